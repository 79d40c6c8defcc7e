// AWS KMS with two keys, which the SDK of AWS reaches by the environment of the process.
import { Effect, Layer } from "effect"
import type { IncomingMessage } from "node:http"
import type { Curve } from "../../src/domain/signer/Signer.ts"
import * as Environment from "./Environment.ts"
import * as Keys from "./Keys.ts"
import { StandIn, secretText, serve } from "./StandIn.ts"
import type { Answer, Fault } from "./StandIn.ts"

const region = "eu-west-1"

/** The id of every signature, with which AWS finds it in its log. */
export const requestId = "5b1e4f2c-0000-4000-8000-000000000001"

interface Stored {
  readonly id: string
  readonly key: Keys.Key
}

const arnOf = (id: string) => `arn:aws:kms:${region}:111122223333:key/${id}`

const specs = { secp256k1: "ECC_SECG_P256K1", ed25519: "ECC_NIST_EDWARDS25519" } as const

const error = (name: string, status = 400, headers: Record<string, string> = {}): Answer => ({
  status,
  headers,
  json: { __type: name, message: secretText }
})

const failures: Partial<Record<Fault, () => Answer>> = {
  throttled: () => error("ThrottlingException"),
  "throttled for a second": () => error("ThrottlingException", 400, { "retry-after": "1" }),
  "throttled for a minute": () => error("ThrottlingException", 400, { "retry-after": "60" }),
  "clock skew": () => error("InvalidSignatureException", 400, { date: "Thu, 01 Jan 2099 00:00:00 GMT" }),
  "expired login": () => error("ExpiredTokenException"),
  "disabled key": () => error("DisabledException"),
  "no such key": () => error("NotFoundException"),
  refused: () => error("AccessDeniedException"),
  broken: () => error("KMSInternalException", 500)
}

const operations = { "TrentService.GetPublicKey": "describe", "TrentService.Sign": "sign" } as const

const operationOf = ({ headers }: IncomingMessage) =>
  operations[String(headers["x-amz-target"]) as keyof typeof operations] ?? undefined

interface SignBody {
  readonly KeyId: string
  readonly Message: string
  readonly MessageType: string
  readonly SigningAlgorithm: string
}

const algorithms = { secp256k1: "DIGEST ECDSA_SHA_256", ed25519: "RAW ED25519_SHA_512" } as const

const sign = ({ id, key }: Stored, body: SignBody, fault: Fault | undefined): Answer => {
  if (`${body.MessageType} ${body.SigningAlgorithm}` !== algorithms[key.curve]) return error("InvalidKeyUsageException")
  const signing = Keys.withFault(key, fault)
  const signature = signing.sign(Buffer.from(body.Message, "base64"), fault === "high s")
  const bytes = key.curve === "secp256k1" ? Keys.toDer(signature) : signature
  const headers = { "x-amzn-requestid": requestId }
  return { status: 200, headers, json: { KeyId: arnOf(id), Signature: Buffer.from(bytes).toString("base64") } }
}

const environment = (url: string) => ({
  AWS_ENDPOINT_URL_KMS: url,
  AWS_ACCESS_KEY_ID: "AKIATEST",
  AWS_SECRET_ACCESS_KEY: "secret-of-the-process",
  AWS_EC2_METADATA_DISABLED: "true"
})

export const layer = Layer.effect(
  StandIn,
  Effect.gen(function* () {
    const stored = new Map<string, Stored>()
    const add = (curve: Curve) => {
      const id = crypto.randomUUID()
      stored.set(id, { id, key: Keys.make(curve) })
      return id
    }
    const aliases = new Map<string, string>([
      ["alias/secp256k1", add("secp256k1")],
      ["alias/ed25519", add("ed25519")]
    ])
    const find = (keyId: string) => {
      const name = keyId.replace(/^arn:[^/]*:(key\/|alias\/)/, (_, kind) => (kind === "key/" ? "" : kind))
      return stored.get(aliases.get(name) ?? name)
    }

    const served = yield* serve(operationOf, (request, text, fault) => {
      const failure = fault === undefined ? undefined : failures[fault]
      if (failure !== undefined) return failure()
      const body = JSON.parse(text)
      const found = find(body.KeyId)
      if (found === undefined) return error("NotFoundException")
      if (operationOf(request) === "sign") return sign(found, body, fault)
      const { id } = found
      const key = Keys.withFault(found.key, fault)
      const KeySpec = specs[key.curve]
      const PublicKey = Buffer.from(key.spki).toString("base64")
      return { status: 200, json: { KeyId: arnOf(id), KeySpec, KeyUsage: "SIGN_VERIFY", PublicKey } }
    })
    yield* Environment.set(environment(served.url))

    return StandIn.of({
      ...served,
      curves: ["secp256k1", "ed25519"],
      request: (curve) => ({ type: "aws_kms", config: { region, key_id: `alias/${curve}` } }),
      moveAlias: (curve) => void aliases.set(`alias/${curve}`, add(curve))
    })
  })
)
