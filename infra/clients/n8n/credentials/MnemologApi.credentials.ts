import type { IAuthenticateGeneric, ICredentialTestRequest, ICredentialType, INodeProperties, Icon } from "n8n-workflow";

/** The address of a server, and an API key (or the token in http.token of a data directory on this machine). */
export class MnemologApi implements ICredentialType {
  name = "mnemologApi";
  displayName = "Mnemolog API";
  icon: Icon = { light: "file:../icons/mnemolog.svg", dark: "file:../icons/mnemolog.dark.svg" };

  properties: INodeProperties[] = [
    {
      displayName: "Base URL",
      name: "baseUrl",
      type: "string",
      default: "http://127.0.0.1:8765",
      required: true,
      description: "The address that <code>mnemolog up</code> prints, without a path",
    },
    {
      displayName: "API Key",
      name: "apiKey",
      type: "string",
      typeOptions: { password: true },
      default: "",
      required: true,
      description: "As <code>mnemolog api-key create</code> prints it",
    },
  ];

  authenticate: IAuthenticateGeneric = {
    type: "generic",
    properties: { headers: { Authorization: "=Bearer {{$credentials.apiKey.trim()}}" } },
  };

  /** Whoever has no valid key only learns that the server is alive, and not how far its projections lag. */
  test: ICredentialTestRequest = {
    request: { baseURL: '={{$credentials.baseUrl.replace(/\\/+$/, "")}}', url: "/health" },
    rules: [
      {
        type: "responseSuccessBody",
        properties: { key: "lag", value: undefined, message: "The server does not know this API key" },
      },
    ],
  };
}
