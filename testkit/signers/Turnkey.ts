// Turnkey with a key on each curve. It checks stamps, and gives the same body the same activity.
import { Context, Effect, Layer } from "effect"
import * as crypto from "node:crypto"
import type { Curve } from "../../src/domain/signer/Signer.ts"
import * as Keys from "./Keys.ts"
import { StandIn, secretText, serve } from "./StandIn.ts"
import type { Answer, Fault, Operation } from "./StandIn.ts"

const organizationId = "2a1f3c7e-1111-4222-8333-444455556666"

const pair = crypto.createECDH("prime256v1")
pair.generateKeys()

const apiKey = {
  api_public_key: pair.getPublicKey("hex", "compressed"),
  api_private_key: pair.getPrivateKey("hex").padStart(64, "0")
}

const error = (status: number, code: number, headers: Record<string, string> = {}): Answer => ({
  status,
  headers,
  json: { code, message: secretText, details: [] }
})

const failures: Partial<Record<Fault, () => Answer>> = {
  throttled: () => error(429, 8),
  "throttled for a second": () => error(429, 8, { "retry-after": "1" }),
  "throttled for a minute": () => error(429, 8, { "retry-after": "60" }),
  "clock skew": () => error(401, 16, { date: "Thu, 01 Jan 2099 00:00:00 GMT" }),
  "expired login": () => error(401, 16),
  "no such key": () => error(404, 5),
  refused: () => error(403, 7),
  broken: () => error(500, 13)
}

const stampKey = () => {
  const point = pair.getPublicKey()
  const jwk = { kty: "EC", crv: "P-256", x: point.toString("base64url", 1, 33), y: point.toString("base64url", 33) }
  return crypto.createPublicKey({ key: jwk, format: "jwk" })
}

const isStamped = (header: string, body: string): boolean => {
  const { publicKey, scheme, signature } = JSON.parse(Buffer.from(header, "base64url").toString())
  return (
    publicKey === apiKey.api_public_key &&
    scheme === "SIGNATURE_SCHEME_TK_API_P256" &&
    crypto.verify("sha256", Buffer.from(body), stampKey(), Buffer.from(signature, "hex"))
  )
}

interface Activity {
  readonly id: string
  status: string
  readonly result: { readonly signRawPayloadResult: { readonly r: string; readonly s: string; readonly v: string } }
}

const completed = "ACTIVITY_STATUS_COMPLETED"

const hashFunctions = { secp256k1: "HASH_FUNCTION_NO_OP", ed25519: "HASH_FUNCTION_NOT_APPLICABLE" } as const

const operations: Readonly<Record<string, Operation>> = {
  "/api.turnkey.com/public/v1/submit/sign_raw_payload": "sign",
  "/api.turnkey.com/public/v1/query/get_private_key": "describe",
  "/api.turnkey.com/public/v1/query/whoami": "login"
}

export class Turnkey extends Context.Service<
  Turnkey,
  {
    readonly url: string
    /** By id or address. */
    readonly keys: Map<string, Keys.Key>
    /** By the hash of the body that made them. */
    readonly activities: Map<string, Activity>
    /** Of requests to sign, with their faults. */
    readonly bodies: Array<string>
    /** The state of new activities. */
    status: string
    readonly request: (id: string, changes?: object) => { readonly type: "turnkey"; readonly config: object }
  }
>()("effect-relayer/testkit/signers/Turnkey") {}

const idOf = { secp256k1: "6b8b4d1e-5555-4666-8777-888899990000", ed25519: "7c9c5e2f-5555-4666-8777-888899990000" }

export const layer = Layer.effectContext(
  Effect.gen(function* () {
    const curves = ["secp256k1", "ed25519"] as const
    const keys = new Map(curves.map((curve) => [idOf[curve], Keys.make(curve)] as [string, Keys.Key]))
    const activities = new Map<string, Activity>()
    const bodies: Array<string> = []

    const signatureOf = (key: Keys.Key, payload: string, fault: Fault | undefined) => {
      const signing = Keys.withFault(key, fault)
      const signature = Buffer.from(signing.sign(Buffer.from(payload, "hex"), fault === "high s"))
      const [r, s] = [signature.toString("hex", 0, 32), signature.toString("hex", 32)]
      return { signRawPayloadResult: { r, s, v: "00" } }
    }

    const submit = (body: string, fault: Fault | undefined): Answer => {
      const { type, timestampMs, parameters } = JSON.parse(body)
      const key = keys.get(parameters.signWith)
      if (key === undefined) return error(404, 5)
      const isValid =
        type === "ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2" &&
        /^\d+$/u.test(timestampMs) &&
        parameters.encoding === "PAYLOAD_ENCODING_HEXADECIMAL" &&
        parameters.hashFunction === hashFunctions[key.curve]
      if (!isValid) return error(400, 3)
      const fingerprint = crypto.createHash("sha256").update(body).digest("hex")
      const activity = activities.get(fingerprint) ?? {
        id: crypto.randomUUID(),
        status: turnkey.status,
        result: signatureOf(key, parameters.payload, fault)
      }
      activities.set(fingerprint, activity)
      const { status, id } = activity
      return { status: 200, json: { activity: status === completed ? activity : { id, status, result: null } } }
    }

    const show = (body: string, fault: Fault | undefined): Answer => {
      const { privateKeyId } = JSON.parse(body)
      const found = keys.get(privateKeyId)
      if (found === undefined) return error(404, 5)
      const { publicKey } = Keys.withFault(found, fault)
      return { status: 200, json: { privateKey: { privateKeyId, publicKey: Buffer.from(publicKey).toString("hex") } } }
    }

    const served = yield* serve(
      ({ url = "" }) => operations[url],
      ({ url = "", headers }, body, fault) => {
        if (operations[url] === "sign") bodies.push(body)
        const failure = fault === undefined ? undefined : failures[fault]
        if (failure !== undefined) return failure()
        if (!isStamped(String(headers["x-stamp"]), body)) return error(401, 16)
        if (JSON.parse(body).organizationId !== organizationId) return error(403, 7)
        if (operations[url] === "sign") return submit(body, fault)
        if (operations[url] === "describe") return show(body, fault)
        return { status: 200, json: { organizationId, userId: crypto.randomUUID(), username: "relayer" } }
      }
    )

    const request: Turnkey["Service"]["request"] = (id, changes = {}) => ({
      type: "turnkey",
      config: {
        ...apiKey,
        organization_id: organizationId,
        private_key_id: id,
        public_key: Buffer.from(keys.get(id)?.publicKey ?? []).toString("hex"),
        ...changes
      }
    })

    const turnkey = Turnkey.of({ url: served.url, keys, activities, bodies, status: completed, request })
    const standIn = StandIn.of({
      ...served,
      curves,
      request: (curve: Curve) => request(idOf[curve])
    })
    return Context.make(Turnkey, turnkey).pipe(Context.add(StandIn, standIn))
  })
)
