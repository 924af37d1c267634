// What the node offers: each operation of openapi.json that takes and returns JSON, with its fields.

import { readFileSync, writeFileSync } from "node:fs";

const { paths, components } = JSON.parse(readFileSync("openapi.json", "utf8"));
const KEY = "Idempotency-Key";
const OWN = { boolean: "boolean", integer: "number", number: "number", string: "string", array: "json", object: "json" };

const resolved = (schema) => (schema.$ref ? components.schemas[schema.$ref.split("/").pop()] : schema);
const choices = (schema) => (resolved(schema).anyOf ?? [schema]).map(resolved).filter((one) => one.type !== "null");

function field(name, place, schema, required, description) {
  const all = choices(schema);
  const values = all.length === 1 ? all[0].enum : undefined;
  const text = all.find((one) => one.type === "string");
  return {
    name,
    in: place,
    type: values ? "options" : text ? "string" : (OWN[all[0]?.type] ?? "json"),
    required,
    description: description ?? schema.description ?? text?.description ?? "",
    ...(values ? { values } : {}),
  };
}

function fieldsOf(operation) {
  const given = (operation.parameters ?? []).map((one) =>
    field(one.name, one.in, one.schema, one.required ?? false, one.description),
  );
  const body = operation.requestBody?.content["application/json"];
  if (!body) return given;
  const { properties = {}, required = [] } = resolved(body.schema);
  const inBody = Object.entries(properties).map(([name, schema]) => field(name, "body", schema, required.includes(name)));
  return [...given, ...inBody.filter((one) => !given.some((other) => other.name === one.name))];
}

const speaksJson = ({ requestBody, responses }) =>
  [requestBody, Object.entries(responses).find(([status]) => status.startsWith("2"))?.[1]].every(
    (one) => !one?.content || "application/json" in one.content,
  );

const operations = Object.entries(paths)
  .filter(([path]) => path.startsWith("/v1/"))
  .flatMap(([path, methods]) => Object.entries(methods).map(([method, one]) => ({ path, method, one })))
  .filter(({ one }) => speaksJson(one))
  .map(({ path, method, one }) => ({
    id: one.operationId,
    resource: one.tags[0],
    method: method.toUpperCase(),
    path,
    summary: one.summary,
    writes: (one.parameters ?? []).some((parameter) => parameter.name === KEY),
    fields: fieldsOf(one).filter((each) => each.name !== "idempotency_key"),
  }));

if (operations.length === 0) throw new Error("openapi.json has no operation under /v1/");
writeFileSync("nodes/Mnemolog/operations.json", JSON.stringify(operations, null, 1));
