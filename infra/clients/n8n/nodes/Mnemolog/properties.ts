// The parameters of the node, made of the operations that the server describes.

import type { INodeProperties, INodePropertyOptions } from "n8n-workflow";
import list from "./operations.json";
import type { operations } from "./schema";

export interface Field {
  name: string;
  in: string;
  type: string;
  required: boolean;
  description: string;
  values?: string[];
}

export interface Operation {
  id: string;
  resource: string;
  method: string;
  path: string;
  summary: string;
  writes: boolean;
  fields: Field[];
}

export const OPTIONS = "options";

/** What most workflows need, in this order. */
const MAIN: Array<keyof operations> = ["add", "search", "context", "respond"];

const all: Operation[] = list;
const main = MAIN.map((id) => all.find((one) => one.id === id) as Operation);
const others = all.filter((one) => !main.includes(one));

export const OPERATIONS = new Map(all.map((one) => [one.id, one]));

/** `user_id` as `User ID`. */
function titled(name: string): string {
  const words = name.split(/[_-]/).map((word) => (word === "id" ? "ID" : word[0]?.toUpperCase() + word.slice(1)));
  return words.join(" ");
}

function option(one: Operation): INodePropertyOptions {
  return { name: titled(one.id), value: one.id, description: one.summary, action: one.summary };
}

function choice(resource: string, offered: Operation[]): INodeProperties {
  return {
    displayName: "Operation",
    name: "operation",
    type: "options",
    noDataExpression: true,
    displayOptions: { show: { resource: [resource] } },
    options: offered.map(option),
    default: offered[0]?.id ?? "",
  };
}

function parameter(field: Field): INodeProperties {
  const shared = { displayName: titled(field.name), name: field.name, description: field.description };
  switch (field.type) {
    case "options":
      return {
        ...shared,
        type: "options",
        options: (field.values ?? []).map((value) => ({ name: titled(value), value })),
        default: field.values?.[0] ?? "",
      };
    case "boolean":
      return { ...shared, type: "boolean", default: false };
    case "number":
      return { ...shared, type: "number", default: 0 };
    case "json":
      return { ...shared, type: "json", default: "" };
    default:
      return { ...shared, type: "string", default: "" };
  }
}

/** Required fields stand by themselves, the same one once for all operations that have it; others are options. */
function fields(): INodeProperties[] {
  const required = new Map<string, { field: Field; of: string[] }>();
  const options: INodeProperties[] = [];
  for (const { id, fields } of [...main, ...others]) {
    for (const field of fields.filter((one) => one.required)) {
      const same = JSON.stringify(field);
      const known = required.get(same);
      if (known) known.of.push(id);
      else required.set(same, { field, of: [id] });
    }
    const rest = fields.filter((one) => !one.required);
    if (rest.length === 0) continue;
    options.push({
      displayName: "Options",
      name: OPTIONS,
      type: "collection",
      placeholder: "Add option",
      default: {},
      displayOptions: { show: { operation: [id] } },
      options: rest.map(parameter),
    });
  }
  const alone = [...required.values()].map(({ field, of }) => ({
    ...parameter(field),
    required: true,
    displayOptions: { show: { operation: of } },
  }));
  return [...alone, ...options];
}

export function properties(): INodeProperties[] {
  const resources = [...new Set(others.map((one) => one.resource))];
  return [
    {
      displayName: "Resource",
      name: "resource",
      type: "options",
      noDataExpression: true,
      options: [{ name: "Main", value: "main" }, ...resources.map((name) => ({ name: titled(name), value: name }))],
      default: "main",
    },
    choice("main", main),
    ...resources.map((name) =>
      choice(
        name,
        others.filter((one) => one.resource === name),
      ),
    ),
    ...fields(),
  ];
}
