// Reads authorizations of EIP-7702 in the shapes that libraries write: viem, ethers, ox, eth-account, cast, and what nodes show.
import { Effect, Predicate, Result, Schema, SchemaIssue, SchemaTransformation } from "effect"
import type { Violation } from "../../../domain/request/Request.ts"
import { highestS, isScalar } from "./Authorizations.ts"
import type { Authorization } from "./Authorizations.ts"
import { maxNonce } from "./EvmNumbers.ts"

/** Entries of one list. Each costs tens of thousands of gas. */
const maxAuthorizations = 10

type Read<A> = Result.Result<A, ReadonlyArray<Violation>>

const wrong = (field: string, message: string): Read<never> => Result.fail([{ field, message }])

/** A member under one of its names. Null counts as absent. */
interface Member {
  /** As the caller wrote it. */
  readonly name: string
  readonly value: unknown
}

/** `names`: that of the API first. */
const memberOf = (given: object, names: readonly [string, ...ReadonlyArray<string>]): Member => {
  const found = names.find((name) => Predicate.hasProperty(given, name) && (given[name] ?? null) !== null)
  return { name: found ?? names[0], value: found === undefined ? undefined : Reflect.get(given, found) }
}

const required = ({ name }: Member): Read<never> => wrong(name, "is required")

const integerText = /^(0|[1-9]\d{0,77}|0x[0-9a-fA-F]{1,64})$/

/** A number, or a text of digits or of hex. Undefined: it is none. */
const integerOf = (value: unknown): bigint | undefined => {
  if (Predicate.isBigInt(value)) return value
  if (Predicate.isNumber(value)) return Number.isSafeInteger(value) ? BigInt(value) : undefined
  return Predicate.isString(value) && integerText.test(value) ? BigInt(value) : undefined
}

const readInteger = (member: Member, maximum: number): Read<number> => {
  const { name, value } = member
  if (value === undefined) return required(member)
  const found = integerOf(value)
  return found === undefined || found < 0n || found > BigInt(maximum)
    ? wrong(name, `Expected an integer from 0 to ${maximum}, as a number, a decimal string or a 0x-hex string`)
    : Result.succeed(Number(found))
}

const addressText = /^0x[0-9a-fA-F]{40}$/

const readAddress = (member: Member): Read<string> => {
  const { name, value } = member
  if (value === undefined) return required(member)
  return Predicate.isString(value) && addressText.test(value)
    ? Result.succeed(value)
    : wrong(name, "Expected an address: 0x and 40 hex digits")
}

const scalarText = /^0x[0-9a-fA-F]{1,64}$/

const isNumeric = (value: unknown): boolean => Predicate.isNumber(value) || Predicate.isBigInt(value)

const word = (value: string): string => `0x${BigInt(value).toString(16).padStart(64, "0")}`

const readScalar = (member: Member): Read<string> => {
  const { name, value } = member
  if (value === undefined) return required(member)
  if (isNumeric(value)) {
    return wrong(
      name,
      "is a JSON number: send hex strings, because most readers of JSON round it to the signature of another account"
    )
  }
  if (!Predicate.isString(value) || !scalarText.test(value)) {
    return wrong(name, "Expected a hex string: 0x and at most 64 hex digits")
  }
  if (BigInt(value) === 0n) {
    return wrong(
      name,
      "is zero: this is no signature. ethers writes zeros for an authorization in another shape than its own"
    )
  }
  return isScalar(value) ? Result.succeed(word(value)) : wrong(name, "is above the order of the curve secp256k1")
}

const readS = (member: Member): Read<string> =>
  Result.flatMap(readScalar(member), (s) =>
    BigInt(s) > highestS
      ? wrong(member.name, "is in the upper half of the curve: nodes skip such an authorization (EIP-2)")
      : Result.succeed(s)
  )

const notParity = "Expected 0 or 1"
const notV = "Expected 27 or 28"

/** `v` counts if nothing else says the parity: 27 or 28, and 0 or 1 as nodes write it for typed transactions. */
const readParity = (given: object): Read<0 | 1> => {
  const parity = memberOf(given, ["y_parity", "yParity"])
  const v = memberOf(given, ["v"])
  const [ofParity, ofV] = [integerOf(parity.value), integerOf(v.value)]
  const fromV = ofV === undefined ? undefined : ofV >= 27n ? ofV - 27n : ofV
  if (parity.value === undefined && v.value === undefined) return required(parity)
  if (v.value !== undefined && fromV !== 0n && fromV !== 1n) return wrong("v", notV)
  if (parity.value !== undefined && ofParity !== 0n && ofParity !== 1n) return wrong(parity.name, notParity)
  if (ofParity !== undefined && fromV !== undefined && ofParity !== fromV)
    return wrong("v", `differs from ${parity.name}`)
  return Result.succeed((ofParity ?? fromV) === 1n ? 1 : 0)
}

type Signature = Pick<Authorization, "yParity" | "r" | "s">

/** What is wrong with each of them, or all of them. */
const all = <A extends object>(parts: { readonly [K in keyof A]: Read<A[K]> }): Read<A> => {
  const entries = Object.entries<Read<unknown>>(parts)
  const found = entries.flatMap(([, part]) => (Result.isFailure(part) ? part.failure : []))
  if (found.length > 0) return Result.fail(found)
  return Result.succeed(
    Object.fromEntries(entries.flatMap(([name, part]) => (Result.isSuccess(part) ? [[name, part.success]] : []))) as A
  )
}

const membersOfSignature = (given: object): Read<Signature> =>
  all<Signature>({
    yParity: readParity(given),
    r: readScalar(memberOf(given, ["r"])),
    s: readS(memberOf(given, ["s"]))
  })

const under =
  (name: string) =>
  (violations: ReadonlyArray<Violation>): ReadonlyArray<Violation> =>
    violations.map(({ field, message }) => ({ field: `${name}.${field}`, message }))

const signatureText = /^0x[0-9a-fA-F]{130}$/

/** As ethers writes it: an object, or r, s and v in 65 bytes. */
const readSignature = (value: unknown): Read<Signature> => {
  if (Predicate.isString(value)) {
    if (!signatureText.test(value)) return wrong("signature", "Expected 65 bytes, 0x and 130 hex digits, or an object")
    const [r, s, v] = [value.slice(2, 66), value.slice(66, 130), value.slice(130)].map((digits) => `0x${digits}`)
    return Result.mapError(membersOfSignature({ r, s, v }), under("signature"))
  }
  return Predicate.isObject(value)
    ? Result.mapError(membersOfSignature(value), under("signature"))
    : wrong("signature", "Expected an object with r, s and yParity or v, or 65 bytes as 0x and 130 hex digits")
}

const hasOwnSignature = (given: object): boolean =>
  ["r", "s", "v", "yParity", "y_parity"].some((name) => memberOf(given, [name]).value !== undefined)

const signatureIn = (given: object): Read<Signature> => {
  const { value } = memberOf(given, ["signature"])
  if (value === undefined) return membersOfSignature(given)
  const nested = readSignature(value)
  if (!hasOwnSignature(given)) return nested
  return Result.flatMap(nested, (one) =>
    Result.flatMap(membersOfSignature(given), (other) =>
      one.r === other.r && one.s === other.s && one.yParity === other.yParity
        ? Result.succeed(one)
        : wrong("signature", "differs from r, s and y_parity beside it")
    )
  )
}

/** Other members, such as those that eth-account adds, are ignored: the signature decides what an authorization is. */
const readObject = (given: object): Read<Authorization> => {
  const signature = signatureIn(given)
  const signed = all<Pick<Authorization, "chainId" | "address" | "nonce">>({
    chainId: readInteger(memberOf(given, ["chain_id", "chainId"]), Number.MAX_SAFE_INTEGER),
    address: readAddress(memberOf(given, ["address"])),
    nonce: readInteger(memberOf(given, ["nonce"]), maxNonce)
  })
  if (Result.isSuccess(signed) && Result.isSuccess(signature)) {
    return Result.succeed({ ...signed.success, ...signature.success })
  }
  return Result.fail([
    ...(Result.isFailure(signed) ? signed.failure : []),
    ...(Result.isFailure(signature) ? signature.failure : [])
  ])
}

/** The longest list of six fields: two prefixes of up to two bytes, and 9, 21, 9, 1, 33 and 33 bytes. */
const maxRlpDigits = 2 * 128

const rlpText = new RegExp(`^0x([0-9a-fA-F]{2}){1,${maxRlpDigits / 2}}$`, "u")

/** The texts in a list of RLP whose items are all short (Ethereum Yellow Paper, appendix B). Undefined: it is no such list. */
const itemsOf = (digits: string): ReadonlyArray<string> | undefined => {
  const byteAt = (at: number) => Number.parseInt(digits.slice(2 * at, 2 * at + 2), 16)
  const total = digits.length / 2
  const first = byteAt(0)
  const isShort = first >= 0xc0 && first < 0xf8
  if (!isShort && first !== 0xf8) return undefined
  const start = isShort ? 1 : 2
  const length = isShort ? first - 0xc0 : byteAt(1)
  if (start + length !== total) return undefined
  const items: Array<string> = []
  for (let at = start; at < total;) {
    const prefix = byteAt(at)
    if (prefix > 0xb7) return undefined
    const [from, size] = prefix < 0x80 ? [at, 1] : [at + 1, prefix - 0x80]
    if (from + size > total) return undefined
    items.push(digits.slice(2 * from, 2 * (from + size)))
    at = from + size
  }
  return items
}

const notRlp =
  "Expected an object, or as a text the RLP of the six fields chain id, address, nonce, y parity, r and s, as cast wallet sign-auth writes it"

/** What `cast wallet sign-auth` prints. */
const readRlp = (text: string): Read<Authorization> => {
  const items = rlpText.test(text) ? itemsOf(text.slice(2).toLowerCase()) : undefined
  if (items?.length !== 6) return wrong("", notRlp)
  const number = (digits: string | undefined) => `0x${digits === undefined || digits === "" ? "0" : digits}`
  const [chain_id, address, nonce, y_parity, r, s] = items
  return readObject({
    chain_id: number(chain_id),
    address: `0x${address}`,
    nonce: number(nonce),
    y_parity: number(y_parity),
    r: number(r),
    s: number(s)
  })
}

/** What a caller gives as an entry, in one of the shapes. A violation without a field is about the entry as a whole. */
const readAuthorization = (given: unknown): Read<Authorization> => {
  if (Predicate.isString(given)) return readRlp(given)
  return Predicate.isObject(given) ? readObject(given) : wrong("", notRlp)
}

const issueOf = (violations: ReadonlyArray<Violation>): SchemaIssue.Issue => {
  const parts = violations.map(({ field, message }) => {
    const issue = new SchemaIssue.InvalidValue({ message })
    return field === "" ? issue : new SchemaIssue.Pointer(field.split("."), issue)
  })
  const [first, ...others] = parts
  if (first === undefined) return new SchemaIssue.InvalidValue({ message: notRlp })
  return others.length === 0 ? first : new SchemaIssue.Composite(GivenEntry.ast, [first, ...others])
}

const exampleWord = `0x${"1a".repeat(32)}`

const hexWord = { type: "string", pattern: "^0x[0-9a-fA-F]{1,64}$" } as const
const quantity = { anyOf: [{ type: "integer", minimum: 0 }, { type: "string" }] } as const

/** What the document says of it: the shape of the API. The description of the field names the others. */
const contentSchema = {
  anyOf: [
    {
      type: "object",
      properties: {
        chain_id: {
          ...quantity,
          description: "Chain id of the network, or 0: then it is valid on every chain.",
          examples: [11_155_111]
        },
        address: {
          type: "string",
          pattern: "^0x[0-9a-fA-F]{40}$",
          description: "The delegate, whose code the authority runs. The zero address ends a delegation.",
          examples: ["0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"]
        },
        nonce: { ...quantity, description: "Nonce of the authority.", examples: [0] },
        y_parity: { ...quantity, description: "0 or 1.", examples: [0] },
        r: { ...hexWord, description: "A hex string.", examples: [exampleWord] },
        s: { ...hexWord, description: "A hex string.", examples: [exampleWord] }
      },
      required: ["address", "nonce"]
    },
    { type: "string", pattern: "^0x([0-9a-fA-F]{2})+$", description: "RLP of the six fields." }
  ]
} as const

/** JSON of any of the shapes. */
const GivenEntry = Schema.Unknown.annotate({
  expected: "an authorization",
  contentMediaType: "application/json",
  contentSchema
})

/** `0x` and 64 digits. The patterns generate values for tests. */
const scalar = (pattern: RegExp, isOne: (value: string) => boolean, expected: string) =>
  Schema.String.check(
    Schema.isPattern(pattern, { expected: "0x and 64 hex digits" }),
    Schema.makeFilter(isOne, { expected, toJsonSchema: () => [{}, true] })
  )

const described = <S extends Schema.Top>(schema: S, description: string) => schema.annotate({ description })

/** As a program has it: viem's object without `v`. */
const Entry = Schema.Struct({
  chainId: described(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
    "Chain that it is valid on. 0: on every chain."
  ),
  address: described(
    Schema.String.check(Schema.isPattern(addressText, { expected: "an address: 0x and 40 hex digits" })),
    "The delegate. The zero address ends a delegation."
  ),
  nonce: described(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: maxNonce })),
    "Transactions of the account that has signed it, before it is applied."
  ),
  yParity: described(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1 })), "Of the signature: 0 or 1."),
  r: described(scalar(/^0x[0-9a-f]{64}$/u, isScalar, "an r of a signature"), "Of the signature: 0x and 64 digits."),
  s: described(
    scalar(
      /^0x[0-7][0-9a-f]{63}$/u,
      (s) => BigInt(s) > 0n && BigInt(s) <= highestS,
      "an s in the lower half of the curve"
    ),
    "Of the signature: 0x and 64 digits, in the lower half of the curve."
  )
})

/** An authorization as the API has it. */
interface EncodedAuthorization {
  readonly chain_id: number
  readonly address: string
  readonly nonce: number
  readonly y_parity: number
  readonly r: string
  readonly s: string
}

const encodeAuthorization = ({ chainId, address, nonce, yParity, r, s }: Authorization): EncodedAuthorization => ({
  chain_id: chainId,
  address,
  nonce,
  y_parity: yParity,
  r,
  s
})

const AuthorizationEntry = GivenEntry.pipe(
  Schema.decodeTo(
    Entry,
    SchemaTransformation.transformEffect({
      decode: (given: unknown): Effect.Effect<Authorization, SchemaIssue.Issue> =>
        Result.match(readAuthorization(given), {
          onFailure: (violations) => Effect.fail(issueOf(violations)),
          onSuccess: Effect.succeed
        }),
      encode: (entry: Authorization): Effect.Effect<unknown> => Effect.succeed(encodeAuthorization(entry))
    })
  )
)

/** The field of a request. Equal lists have the same text, in whatever shape they came. */
export const AuthorizationList = Schema.Array(AuthorizationEntry).check(
  Schema.isBetweenLength(1, maxAuthorizations, { expected: `1 to ${maxAuthorizations} authorizations` })
)
