import {
  NodeApiError,
  NodeConnectionTypes,
  NodeOperationError,
  type IDataObject,
  type IExecuteFunctions,
  type IHttpRequestMethods,
  type IHttpRequestOptions,
  type IN8nHttpFullResponse,
  type INodeExecutionData,
  type INodeType,
  type INodeTypeDescription,
  type JsonObject,
} from "n8n-workflow";
import { OPERATIONS, OPTIONS, properties, type Field } from "./properties";
import type { components } from "./schema";

const CREDENTIALS = "mnemologApi";
const KEY = "Idempotency-Key";

/** Calls operations of a Mnemolog server: each item of the input is one request. */
export class Mnemolog implements INodeType {
  description: INodeTypeDescription = {
    displayName: "Mnemolog",
    name: "mnemolog",
    icon: { light: "file:../../icons/mnemolog.svg", dark: "file:../../icons/mnemolog.dark.svg" },
    group: ["transform"],
    version: 1,
    subtitle: '={{$parameter["operation"]}}',
    description: "Remember conversations and recall what is known of a user",
    defaults: { name: "Mnemolog" },
    inputs: [NodeConnectionTypes.Main],
    outputs: [NodeConnectionTypes.Main],
    usableAsTool: true,
    credentials: [{ name: CREDENTIALS, required: true }],
    properties: properties(),
  };

  async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
    const answers: INodeExecutionData[] = [];
    for (let item = 0; item < this.getInputData().length; item++) {
      try {
        const answer = await asked(this, item);
        const rows = this.helpers.returnJsonArray(answer);
        answers.push(...this.helpers.constructExecutionMetaData(rows, { itemData: { item } }));
      } catch (error) {
        if (!this.continueOnFail()) throw new NodeApiError(this.getNode(), error as JsonObject, { itemIndex: item });
        answers.push({ json: { error: (error as Error).message }, pairedItem: { item } });
      }
    }
    return [answers];
  }
}

async function asked(node: IExecuteFunctions, item: number): Promise<IDataObject | IDataObject[]> {
  const request = await requestOf(node, item);
  const response: IN8nHttpFullResponse = await node.helpers.httpRequestWithAuthentication.call(node, CREDENTIALS, request);
  if (response.statusCode < 300) return response.body as IDataObject;
  const { error } = ((response.body ?? {}) as Partial<components["schemas"]["ErrorAnswer"]>);
  throw new NodeApiError(
    node.getNode(),
    { code: error?.code ?? null, field: error?.field ?? null },
    {
      itemIndex: item,
      httpCode: String(response.statusCode),
      message: error ? [error.field, error.message].filter(Boolean).join(": ") : `status ${response.statusCode}`,
      description: error?.fix ?? "The answer is not one of Mnemolog: check the base URL",
    },
  );
}

async function requestOf(node: IExecuteFunctions, item: number): Promise<IHttpRequestOptions> {
  const id = node.getNodeParameter("operation", item) as string;
  const operation = OPERATIONS.get(id);
  if (!operation) throw new NodeOperationError(node.getNode(), `Unknown operation: ${id}`, { itemIndex: item });
  const { baseUrl } = await node.getCredentials(CREDENTIALS, item);
  const options = node.getNodeParameter(OPTIONS, item, {}) as IDataObject;
  const places: Record<string, IDataObject> = { path: {}, query: {}, header: {}, body: {} };
  if (operation.writes) places["header"] = { [KEY]: keyOf(node, item) };
  for (const field of operation.fields) {
    const given = field.required ? node.getNodeParameter(field.name, item) : options[field.name];
    if (given === undefined || given === null || (given === "" && !field.required)) continue;
    const place = places[field.in] ?? {};
    place[field.name] = typed(node, item, field, given) as IDataObject;
  }
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(places["path"]?.[name])));
  const sends = operation.fields.some((field) => field.in === "body");
  return {
    method: operation.method as IHttpRequestMethods,
    url: `${String(baseUrl).replace(/\/+$/, "")}${path}`,
    qs: places["query"],
    headers: places["header"],
    ...(sends ? { body: places["body"] } : {}),
    json: true,
    arrayFormat: "repeat",
    returnFullResponse: true,
    ignoreHttpStatusErrors: true,
    disableFollowRedirect: true,
  };
}

/** The same for all attempts of one execution, so that a write that n8n tries again is made once. At most 200 characters. */
function keyOf(node: IExecuteFunctions, item: number): string {
  const run = node.getWorkflowDataProxy(item).$runIndex as number;
  const place = [node.getInstanceId(), node.getWorkflow().id, node.getExecutionId(), node.getNode().id, run, item];
  return place.join(":").slice(0, 200);
}

/** What is written as JSON in the editor; an expression gives the value itself. */
function typed(node: IExecuteFunctions, item: number, field: Field, given: unknown): unknown {
  if (field.type !== "json" || typeof given !== "string") return given;
  try {
    return JSON.parse(given);
  } catch (error) {
    throw new NodeOperationError(node.getNode(), `${field.name} is not JSON: ${(error as Error).message}`, { itemIndex: item });
  }
}
