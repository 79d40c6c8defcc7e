// The format of keystores (Web3 Secret Storage, version 3), and limits of what it costs to open one.
import { Result, Schema, SchemaIssue } from "effect"
import { parse } from "../../../../domain/request/ExactJson.ts"
import { BadRequest } from "../../../../domain/request/Request.ts"

const bytes = (minimum: number, maximum = minimum) => {
  const count = minimum === maximum ? `${minimum}` : `${minimum} to ${maximum}`
  const pattern = new RegExp(`^([0-9a-fA-F]{2}){${minimum},${maximum}}$`, "u")
  return Schema.String.check(Schema.isPattern(pattern, { expected: `${count} bytes as hex digits` })).pipe(
    Schema.decodeTo(Schema.Uint8ArrayFromHex)
  )
}

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

const maxCost = 2 ** 18

const common = {
  dklen: Schema.Literal(32),
  salt: bytes(1, 128)
}

/** n · r · p: one or two seconds of a core, and 256 MiB. Clients that write keystores stay within it. */
const maxScrypt = 2 ** 21

/** Less than a second of a core. Clients that write keystores use 2^18. */
const maxIterations = 2 ** 21

const Scrypt = Schema.Struct({
  ...common,
  n: between(2, maxCost).check(
    Schema.makeFilter((n: number) => Number.isInteger(Math.log2(n)), { expected: "a power of two" })
  ),
  r: between(1, 64),
  p: between(1, 16)
}).check(
  Schema.makeFilter(({ n, r, p }) =>
    n * r * p <= maxScrypt ? undefined : { path: ["n"], issue: "is too expensive with this r and p" }
  )
)

const Pbkdf2 = Schema.Struct({ ...common, c: between(1, maxIterations), prf: Schema.Literal("hmac-sha256") })

const cipher = {
  cipher: Schema.Literal("aes-128-ctr"),
  cipherparams: Schema.Struct({ iv: bytes(16) }),
  ciphertext: bytes(32),
  mac: bytes(32)
}

export const Keystore = Schema.Struct({
  version: Schema.Literal(3),
  crypto: Schema.Union([
    Schema.Struct({ ...cipher, kdf: Schema.tag("scrypt"), kdfparams: Scrypt }),
    Schema.Struct({ ...cipher, kdf: Schema.tag("pbkdf2"), kdfparams: Pbkdf2 })
  ]).annotate({ message: "Expected aes-128-ctr as cipher, and scrypt or pbkdf2 as kdf" })
})
export type Keystore = typeof Keystore.Type

const decode = Schema.decodeUnknownResult(Keystore, { errors: "all" })

const at = ["config", "keystore"]

const unreadable = BadRequest.of([{ field: at.join("."), message: "is not valid JSON" }])

/** Some clients write `Crypto`. */
const withCrypto = (json: unknown): unknown =>
  typeof json === "object" && json !== null && "Crypto" in json ? { ...json, crypto: json.Crypto } : json

export const read = (text: string): Result.Result<Keystore, BadRequest> =>
  Result.try({ try: () => withCrypto(parse(text)), catch: () => unreadable }).pipe(
    Result.flatMap((json) =>
      Result.mapError(decode(json), ({ issue }) => BadRequest.fromIssue(new SchemaIssue.Pointer(at, issue), "body"))
    )
  )
