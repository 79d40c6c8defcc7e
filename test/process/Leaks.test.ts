// Secrets that are sent appear nowhere in output and files. Processes run by the clock of the machine.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { folder, postgresFolder } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"

const signerKey = "4C0883A69102937D6231471B5DBB6204FE512961708279F2E4B1D6A3C5F78E9A"
const storageKey = "xo7yRkq2Zl0cVh3nB8sJf5tUgWmDpE1aXiQ4wKv9T6M="
const secrets = {
  "the API key": "leak-test-administrator-0123456789-0123456789",
  "the storage encryption key": storageKey,
  "a signer's key": signerKey,
  "a refused signer's key": "5d0883a69102937d6231471b5dbb6204fe512961708279f2e4b1d6a3c5f78e9b",
  "a signing key": "leak-test-signing-key-0123456789-0123456789",
  "an RPC path": "leak-test-rpc-path-0123456789",
  "an RPC query": "leak-test-rpc-query-0123456789",
  "an RPC password": "leak-test-rpc-password-0123456789",
  "a wrong token": "leak-test-wrong-token-0123456789",
  "a token of another kind": "leak-test-basic-token-0123456789"
}

/** The encodings of a secret, in lower case: the text and its decoded bytes, as latin1, hex and base64. */
const forms = (secret: string): ReadonlyArray<string> => {
  const encodings = [Buffer.from(secret)]
  if (/^[0-9a-f]{64}$/i.test(secret)) encodings.push(Buffer.from(secret, "hex"))
  if (secret === storageKey) encodings.push(Buffer.from(secret, "base64"))
  return encodings.flatMap((bytes) =>
    (["latin1", "hex", "base64url", "base64"] as const).map((encoding) =>
      bytes.toString(encoding).replace(/=+$/, "").toLowerCase()
    )
  )
}

const contains = (text: string, secret: string) => forms(secret).some((form) => text.includes(form))

const assertNoSecretIn = (where: string, content: string) => {
  const text = content.toLowerCase()
  const found = Object.entries(secrets).filter(([, secret]) => contains(text, secret))
  assert.isEmpty(
    found.map(([name]) => name),
    where
  )
}

const evmRelayer = {
  id: "leak-relayer",
  name: "Leaks",
  network: "sepolia",
  network_type: "evm",
  paused: false,
  signer_id: "leak-signer",
  notification_id: "leak-notification",
  custom_rpc_urls: [
    { url: `https://rpc.example.com/v1/${secrets["an RPC path"]}` },
    { url: `https://user:${secrets["an RPC password"]}@rpc.example.com/?key=${secrets["an RPC query"]}` }
  ]
}

const signer = { id: "leak-signer", type: "plain", config: { key: `0x${signerKey}` } }
const notification = {
  id: "leak-notification",
  type: "webhook",
  url: "https://hooks.example.com/x",
  signing_key: secrets["a signing key"]
}

/** Requests and their status. Errors name the problem but must not contain the value. */
const requests: ReadonlyArray<readonly [string, unknown, number]> = [
  ["signers", signer, 201],
  ["signers", signer, 409],
  ["signers", { id: "leak-signer", type: "plain", config: { key: `${secrets["a refused signer's key"]}00` } }, 400],
  ["signers", { type: "plain", config: { keys: secrets["a refused signer's key"] } }, 400],
  ["signers", `{"type":"plain","config":{"key":"${secrets["a refused signer's key"]}"`, 400],
  ["notifications", notification, 201],
  ["notifications", notification, 409],
  ["notifications", { url: `https://u:${secrets["an RPC password"]}@hooks.example.com` }, 400],
  ["relayers", evmRelayer, 201],
  ["relayers", evmRelayer, 409],
  ["relayers", { ...evmRelayer, id: "other" }, 201],
  ["relayers", { ...evmRelayer, id: "third", network: secrets["an RPC path"] }, 400],
  ["relayers", { ...evmRelayer, custom_rpc_urls: [{ url: `ftp://x/${secrets["an RPC path"]}` }] }, 400]
]

describe("secrets", () => {
  it.live("are in no response, no log record of any level, and no file of the database", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const service = yield* Service.listen({
        folder: home,
        env: { API_KEY: secrets["the API key"], STORAGE_ENCRYPTION_KEY: storageKey, LOG_LEVEL: "trace" }
      })
      const key = secrets["the API key"]
      const headers = { "x-relayer-debug": "true" }
      const answers: Array<string> = []
      for (const [resource, body, status] of requests) {
        const answer = yield* service.call(`/api/v1/${resource}`, { key, headers, body })
        assert.strictEqual(answer.status, status, answer.text)
        answers.push(answer.text)
      }
      for (const resource of ["signers", "notifications", "relayers"]) {
        const listed = yield* service.call(`/api/v1/${resource}`, { key, headers })
        assert.include(listed.text, `"id":"leak-${resource.slice(0, -1)}"`)
        const refused = yield* service.call(`/api/v1/${resource}`, { key: secrets["a wrong token"], headers })
        assert.strictEqual(refused.status, 401)
        const basic = { authorization: `Basic ${secrets["a token of another kind"]}` }
        assert.strictEqual((yield* service.call(`/api/v1/${resource}`, { headers: basic })).status, 401)
        answers.push(listed.text, refused.text)
      }
      const metrics = yield* service.call("/metrics", { headers: { accept: "text/plain" } })
      assertNoSecretIn("answers", answers.join("\n") + metrics.text)
      yield* Service.stop(service)
      assert.include(service.stdout(), '"level":"DEBUG"')
      assertNoSecretIn("output", service.stdout() + service.stderr())

      const database = (yield* postgresFolder(path.join(home, "data"))) ?? assert.fail("no files")
      const names = yield* Effect.promise(() => fs.readdir(database, { recursive: true, withFileTypes: true }))
      const where = new Set<string>()
      for (const entry of names.filter((entry) => entry.isFile())) {
        const file = path.join(entry.parentPath, entry.name)
        const content = yield* Effect.promise(() => fs.readFile(file, "latin1"))
        if (content.includes("leak-notification")) where.add(path.relative(database, file).split(path.sep)[0] ?? "")
        assertNoSecretIn(file, content)
      }
      // The search finds text that is not secret, in tables and in the WAL.
      assert.includeMembers([...where], ["base", "pg_wal"])
    })
  )
})
