// AWS KMS for the service: each signature takes 150 ms. It can be silent, throttle, and end and come back.
import { Effect } from "effect"
import { once } from "node:events"
import { createServer } from "node:http"
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { freePort } from "../../testkit/process/Ports.ts"
import * as Keys from "../../testkit/signers/Keys.ts"

const region = "eu-west-1"

/** Milliseconds of a signature: what AWS KMS takes for half of them. */
const signatureTime = 150

type Mode = "works" | "is silent" | "throttles"

const body = async (request: IncomingMessage) => {
  const parts: Array<Buffer> = []
  for await (const part of request) parts.push(part)
  return JSON.parse(Buffer.concat(parts).toString()) as { readonly KeyId: string; readonly Message: string }
}

const answer = (response: ServerResponse, status: number, json: object) =>
  response.writeHead(status, { "content-type": "application/x-amz-json-1.1" }).end(JSON.stringify(json))

const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

const arnOf = (id: string) => `arn:aws:kms:${region}:111122223333:key/${id}`

const listen = (server: Server, port: number) =>
  Effect.promise(() => once(server.listen(port, "127.0.0.1"), "listening"))

const close = (server: Server) =>
  Effect.callback<void>((resume) => {
    server.close(() => resume(Effect.void))
    server.closeAllConnections()
  })

export const start = Effect.gen(function* () {
  const keys = new Map<string, Keys.Key>()
  let mode: Mode = "works"
  let signatures = 0

  const keyOf = (keyId: string) => {
    const id = keyId.replace(/^.*:key\//, "")
    const key = keys.get(id) ?? Keys.make("secp256k1")
    keys.set(id, key)
    return { id, key }
  }

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const { KeyId, Message } = await body(request)
    if (mode === "is silent") return
    if (mode === "throttles") return answer(response, 400, { __type: "ThrottlingException", message: "too many" })
    const { id, key } = keyOf(KeyId)
    if (request.headers["x-amz-target"] === "TrentService.GetPublicKey") {
      const PublicKey = Buffer.from(key.spki).toString("base64")
      return answer(response, 200, { KeyId: arnOf(id), KeySpec: "ECC_SECG_P256K1", KeyUsage: "SIGN_VERIFY", PublicKey })
    }
    await sleep(signatureTime)
    signatures++
    const signature = Keys.toDer(key.sign(Buffer.from(Message, "base64")))
    return answer(response, 200, { KeyId: arnOf(id), Signature: Buffer.from(signature).toString("base64") })
  }

  // A caller that does not wait any more closes its connection.
  const server = createServer((request, response) => void handle(request, response).catch(() => response.destroy()))
  const port = yield* freePort
  yield* listen(server, port)
  yield* Effect.addFinalizer(() => close(server))

  return {
    /** Settings of a service that uses it. */
    env: {
      AWS_ENDPOINT_URL_KMS: `http://127.0.0.1:${port}`,
      AWS_ACCESS_KEY_ID: "AKIATEST",
      AWS_SECRET_ACCESS_KEY: "secret",
      AWS_EC2_METADATA_DISABLED: "true"
    },
    /** A request for a signer with a key of its own. */
    signer: () => ({ type: "aws_kms", config: { region, key_id: crypto.randomUUID() } }),
    signatures: () => signatures,
    set: (next: Mode) => Effect.sync(() => void (mode = next)),
    /** Closes its port and all connections, and opens the same port later. */
    outage: (milliseconds: number) =>
      close(server).pipe(Effect.andThen(Effect.sleep(milliseconds)), Effect.andThen(listen(server, port)))
  }
})
