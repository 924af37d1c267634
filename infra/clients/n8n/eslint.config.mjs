import { n8nCommunityNodesPlugin } from "@n8n/eslint-plugin-community-nodes";
import { defineConfig, globalIgnores } from "eslint/config";
import tseslint from "typescript-eslint";

const JSON_FILES = { parser: tseslint.parser, parserOptions: { extraFileExtensions: [".json"] } };

export default defineConfig(
  globalIgnores(["dist", "nodes/Mnemolog/schema.ts", "*.mjs"]),
  { files: ["**/*.ts"], extends: [tseslint.configs.recommended] },
  n8nCommunityNodesPlugin.configs.recommended,
  {
    files: ["package.json"],
    languageOptions: JSON_FILES,
    // It is built by whoever runs a server, for that server, and is not published.
    rules: { "@n8n/community-nodes/valid-author": "off", "@n8n/community-nodes/require-homepage": "off" },
  },
);
