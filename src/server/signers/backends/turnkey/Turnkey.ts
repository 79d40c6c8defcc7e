// `turnkey`: a key that never leaves Turnkey; Turnkey signs.
import { Effect, Redacted, Schema } from "effect"
import type { HttpClient } from "effect/http"
import { BadRequest } from "../../../../domain/request/Request.ts"
import { TurnkeyCredentials } from "../../../../domain/signer/KeyServices.ts"
import * as Decode from "../remote/Decode.ts"
import type { Provider } from "../remote/RemoteKey.ts"
import type { ConfigOf, Prepared, RequestOf } from "../SignerBackend.ts"
import * as Stamp from "./Stamp.ts"
import * as TurnkeyApi from "./TurnkeyApi.ts"
import { fields, unavailable } from "./TurnkeyFailures.ts"

type Request = RequestOf<"turnkey">
type Config = ConfigOf<"turnkey">

/** Calls per second of an organization. Its plan sets the true limit, above which Turnkey answers 429. */
const rate = 60

const Secret = Schema.fromJsonString(TurnkeyCredentials)
const encode = Schema.encodeSync(Secret)
const decode = Schema.decodeSync(Secret)

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/iu

/** The length determines the curve. 33 bytes are expanded, because the address is derived from the uncompressed form. */
const keyOfHex = (hex: string) =>
  Effect.promise(async (): Promise<Decode.DecodedKey | undefined> => {
    const bytes = Buffer.from(hex.replace(/^0x/u, ""), "hex")
    return bytes.length === 32 ? { curve: "ed25519", publicKey: new Uint8Array(bytes) } : Decode.ofPoint(bytes)
  })

const invalid = (field: string, message: string) => BadRequest.of([{ field: `config.${field}`, message }])

const prepare = Effect.fnUntraced(function* ({ api_private_key, ...config }: Request) {
  if (!Stamp.isPair(config.api_public_key, api_private_key)) {
    return yield* invalid("api_private_key", "is not the private key of api_public_key")
  }
  if ((yield* keyOfHex(config.public_key)) === undefined) {
    return yield* invalid("public_key", "is not a point of secp256k1")
  }
  return { config, secret: Redacted.make(encode({ api_private_key })) }
})

const found = Effect.fnUntraced(function* (hex: string) {
  return (yield* keyOfHex(hex)) ?? (yield* unavailable("unexpected"))
})

const keyOf = ({ config, secret }: Prepared<Config>): TurnkeyApi.TurnkeyKey => ({
  apiPublicKey: config.api_public_key,
  apiPrivateKey: decode(Redacted.value(secret)).api_private_key,
  organizationId: config.organization_id,
  privateKeyId: config.private_key_id
})

export const make = Effect.fnUntraced(function* (client: HttpClient.HttpClient) {
  const api = yield* TurnkeyApi.make(client)

  /** Turnkey returns the public key of a private key. For a wallet account, only its signatures prove the public key. */
  const describe = Effect.fnUntraced(function* (pinned: Prepared<Config>) {
    const key = keyOf(pinned)
    if (uuid.test(key.privateKeyId)) {
      return { ...(yield* Effect.flatMap(api.publicKey(key), found)), state: "a private key of the organization" }
    }
    yield* api.whoami(key)
    return { ...(yield* found(pinned.config.public_key)), state: "the organization knows the API key" }
  })

  const provider: Provider<Request, Config, Config> = {
    fields,
    prepare,
    // No call: each new signer signs a probe, which shows whether the key is the configured one.
    resolve: ({ config }) => Effect.map(found(config.public_key), (key) => ({ ...key, config, state: "" })),
    describe,
    sign: (pinned, curve, message) => api.sign(keyOf(pinned), curve, message),
    identity: ({ config }) => ({
      service: "Turnkey",
      breaker: `turnkey ${config.api_public_key}`,
      account: `turnkey ${config.organization_id}`,
      rate
    }),
    ambientKey: () => undefined
  }
  return provider
})
