// What callers send, field by field: operations, sends and replacements, envelopes to sign, and transactions whose users pay in a token.
import { DateTime, Effect, Predicate, Schema, SchemaGetter, SchemaIssue, SchemaTransformation, Struct } from "effect"
import { field } from "../../../domain/request/Field.ts"
import * as Shown from "../../../domain/request/Shown.ts"
import { Instant, list, maybe, text } from "../../../domain/request/Shown.ts"
import type { Exchange } from "../../core/Family.ts"
import { batchOf } from "../../core/TransactionRequests.ts"
import { maxExternalIdLength } from "../../core/TransactionValues.ts"
import { maxMemoBytes, maxWasmBytes } from "./StellarNumbers.ts"
import {
  AccountAddress,
  AnyAddress,
  ContractAddress,
  DestinationAddress,
  integerFrom,
  maxUint64,
  ScVal,
  Sequence,
  Stroops
} from "./StellarValues.ts"

// Operations, assets, memos and authorizations of requests, as clients of the wire format write them.

const code = (shortest: number, longest: number) =>
  Schema.String.check(
    Schema.isPattern(new RegExp(`^[a-zA-Z0-9]{${shortest},${longest}}$`, "u"), {
      expected: `${shortest} to ${longest} ASCII letters and digits`
    })
  )

/** Both spellings come in, the short one goes out. */
const tagged = <const T extends string>(short: T, long: string) =>
  Schema.Literals([short, long]).pipe(
    Schema.decodeTo(Schema.Literal(short), {
      decode: SchemaGetter.transform(() => short),
      encode: SchemaGetter.transform(() => short)
    })
  )

const exampleAddress = "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"
const exampleContract = "CDL74RF5BLYR2YBLCCI7F5FB6TPSCLKEJUBSD2RSVWZ4YHF3VMFAIGWA"
const exampleHash = "5c5e6f80".repeat(8)

const issuer = field(AccountAddress, "Account that issues the asset.", exampleAddress)

export const Asset = Schema.Union([
  Schema.Struct({ type: field(Schema.Literal("native"), "XLM.", "native") }).annotate({
    identifier: "StellarNativeAsset"
  }),
  Schema.Struct({
    type: field(tagged("credit4", "credit_alphanum4"), "Credit with a code of 1 to 4 characters.", "credit4"),
    code: field(code(1, 4), "Code of the asset.", "USDC"),
    issuer
  }).annotate({ identifier: "StellarCredit4" }),
  Schema.Struct({
    type: field(tagged("credit12", "credit_alphanum12"), "Credit with a code of 5 to 12 characters.", "credit12"),
    code: field(code(5, 12), "Code of the asset.", "EURTOKEN"),
    issuer
  }).annotate({ identifier: "StellarCredit12" })
]).annotate({
  identifier: "StellarAsset",
  description: "XLM, or credit of an issuer.",
  expected: `an object such as {"type":"native"} or {"type":"credit4","code":"USDC","issuer":"G…"}`
})
export type Asset = typeof Asset.Type

const byteLength = (value: string): number => new TextEncoder().encode(value).length

const MemoText = Schema.String.check(
  Schema.makeFilter((value: string) => value.isWellFormed() && byteLength(value) <= maxMemoBytes, {
    expected: `at most ${maxMemoBytes} bytes of UTF-8`,
    toJsonSchema: () => [{}, true]
  })
)

const HexHash = Schema.String.check(Schema.isPattern(/^[0-9a-fA-F]{64}$/u, { expected: "64 hex digits" }))

const Byte = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))

const hexOf = (bytes: ReadonlyArray<number>): string => bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("")

const bytesOf = (hex: string): ReadonlyArray<number> =>
  Array.from({ length: hex.length / 2 }, (_, index) => Number.parseInt(hex.slice(2 * index, 2 * index + 2), 16))

/** 32 bytes: 64 hex digits, or an array of numbers. */
const Hash = Schema.Union([
  HexHash,
  Schema.Array(Byte)
    .check(Schema.isBetweenLength(32, 32, { expected: "an array of 32 bytes" }))
    .pipe(
      Schema.decodeTo(
        HexHash,
        SchemaTransformation.transform<string, ReadonlyArray<number>>({ decode: hexOf, encode: bytesOf })
      )
    )
])

export const Memo = Schema.Union([
  Schema.Struct({ type: field(Schema.Literal("none"), "No memo.", "none") }),
  Schema.Struct({
    type: field(Schema.Literal("text"), "A text.", "text"),
    value: field(MemoText, "The text, of at most 28 bytes of UTF-8.", "invoice 17")
  }),
  Schema.Struct({
    type: field(Schema.Literal("id"), "A number of 64 bits.", "id"),
    value: field(integerFrom(0n, maxUint64), "The number.", "18446744073709551615")
  }),
  Schema.Struct({
    type: field(Schema.Literal("hash"), "A hash.", "hash"),
    value: field(Hash, "32 bytes, in hex or as a list.", exampleHash)
  }),
  Schema.Struct({
    type: field(Schema.Literal("return"), "The hash of what is returned.", "return"),
    value: field(Hash, "32 bytes, in hex or as a list.", exampleHash)
  })
]).annotate({ identifier: "StellarMemo", description: "A memo for the receiver." })
export type Memo = typeof Memo.Type

const isBase64 = (value: string): boolean => /^[A-Za-z0-9+/]*={0,2}$/.test(value) && value.length % 4 === 0

const Base64 = Schema.String.check(
  Schema.isNonEmpty(),
  Schema.makeFilter(isBase64, { expected: "base64 with padding", toJsonSchema: () => [{}, true] })
)

export const Auth = Schema.Union([
  Schema.Struct({ type: field(Schema.Literal("none"), "The call has no authorization.", "none") }),
  Schema.Struct({
    type: field(
      Schema.Literal("source_account"),
      "The call itself has the authorization of the relayer, and the calls below it have none.",
      "source_account"
    )
  }),
  Schema.Struct({
    type: field(
      Schema.Literal("addresses"),
      "Authorizations of these contracts are recorded. They are not signed, so that an account cannot be among them.",
      "addresses"
    ),
    signers: field(list(AnyAddress), "Contracts whose authorizations are recorded.", [exampleContract])
  }),
  Schema.Struct({
    type: field(Schema.Literal("xdr"), "The caller gives the authorizations.", "xdr"),
    entries: field(list(Base64), "`SorobanAuthorizationEntry` values as base64 of their XDR.", ["AAAAAA=="])
  })
]).annotate({ identifier: "StellarAuth", description: "What the call may do in the name of accounts." })
export type Auth = typeof Auth.Type

const auth = maybe(Auth, {
  description: "If absent, the call itself has the authorization of the relayer, and the calls below it have none."
})

const args = (description: string) => field(Schema.Array(ScVal), description, [{ u64: "1" }])

const WasmHex = Schema.String.check(
  Schema.isPattern(/^([0-9a-fA-F]{2})+$/u, { expected: "two hex digits per byte" }),
  Schema.isMaxLength(2 * maxWasmBytes, { expected: `at most ${maxWasmBytes} bytes` })
)

const WasmBase64 = Base64.check(
  Schema.isMaxLength(Math.ceil(maxWasmBytes / 3) * 4, { expected: `at most ${maxWasmBytes} bytes` })
)

/** With or without `type`: clients send both. */
const Wasm = Schema.Union([
  Schema.Struct({
    type: maybe(Schema.Literal("hex"), { description: "Optional.", examples: ["hex"] }),
    hex: field(WasmHex, "The code in hex.", "0061736d")
  }),
  Schema.Struct({
    type: maybe(Schema.Literal("base64"), { description: "Optional.", examples: ["base64"] }),
    base64: field(WasmBase64, "The code in base64.", "AGFzbQ==")
  })
]).annotate({ identifier: "StellarWasm", description: "Code of a contract." })
export type Wasm = typeof Wasm.Type

const ContractSource = Schema.Union([
  Schema.Struct({
    from: field(Schema.Literal("address"), "The address follows from that of an account.", "address"),
    address: field(AccountAddress, "The relayer's account.", exampleAddress)
  }),
  Schema.Struct({
    from: field(Schema.Literal("contract"), "The address follows from that of a contract.", "contract"),
    contract: field(ContractAddress, "The contract.", exampleContract)
  })
]).annotate({ identifier: "StellarContractSource", description: "What the address of the contract follows from." })

const Payment = Schema.Struct({
  type: field(Schema.Literal("payment"), "A payment.", "payment"),
  destination: field(DestinationAddress, "Receiver, `G…` or `M…`.", exampleAddress),
  amount: field(Stroops, "Stroops, or the smallest unit of the credit.", "10000000"),
  asset: Asset
})

const InvokeContract = Schema.Struct({
  type: field(Schema.Literal("invoke_contract"), "A call of a contract.", "invoke_contract"),
  contract_address: field(ContractAddress, "Contract that is called.", exampleContract),
  function_name: field(
    Schema.String.check(
      Schema.isPattern(/^[a-zA-Z0-9_]{1,32}$/u, { expected: "1 to 32 letters, digits and underscores" })
    ),
    "Function that is called.",
    "transfer"
  ),
  args: args("Arguments of the call."),
  auth
})

const CreateContract = Schema.Struct({
  type: field(Schema.Literal("create_contract"), "The creation of a contract.", "create_contract"),
  source: ContractSource,
  wasm_hash: field(HexHash, "Hash of the code, in hex.", exampleHash),
  salt: maybe(HexHash, { description: "32 bytes in hex. If absent, zeros.", examples: [exampleHash] }),
  constructor_args: maybe(Schema.Array(ScVal), {
    description: "Arguments of the constructor.",
    examples: [[{ u64: "1" }]]
  }),
  auth
})

const UploadWasm = Schema.Struct({
  type: field(Schema.Literal("upload_wasm"), "An upload of code.", "upload_wasm"),
  wasm: Wasm,
  auth
})

export const StellarOperation = Schema.Union([Payment, InvokeContract, CreateContract, UploadWasm]).annotate({
  identifier: "StellarOperation",
  description: "An operation of a transaction."
})
export type StellarOperation = typeof StellarOperation.Type

/** A call, a creation or an upload: one of them at most, alone. */
export const isSoroban = ({ type }: StellarOperation): boolean => type !== "payment"

const NetworkName = text(1, 256)

const unixSeconds = /^(0|[1-9]\d{0,10})$/

const isUnix = (input: string | number): boolean =>
  Predicate.isNumber(input) ? Number.isSafeInteger(input) && input >= 0 : unixSeconds.test(input)

const expected = "an RFC 3339 date-time with a time zone, or unix seconds"

const decodeInstant = Schema.decodeEffect(Instant)

/** The last moment that RFC 3339 can write, in unix seconds. */
const lastSecond = 253_402_300_799

/** RFC 3339, or unix seconds as a string or a number. It goes out as RFC 3339. */
const Deadline = Schema.Union([Schema.String, Schema.Finite])
  .annotate({ description: expected })
  .pipe(
    Schema.decodeTo(
      Schema.toType(Instant),
      SchemaTransformation.transformEffect({
        decode: (input: string | number, options) => {
          const invalid = () => new SchemaIssue.InvalidValue({ expected }, input, options)
          if (!isUnix(input)) {
            return Predicate.isString(input) ? Effect.mapError(decodeInstant(input), invalid) : Effect.fail(invalid())
          }
          const seconds = Number(input)
          return seconds > lastSecond ? Effect.fail(invalid()) : Effect.succeed(DateTime.makeUnsafe(seconds * 1000))
        },
        encode: (moment: DateTime.Utc) => Effect.succeed(DateTime.formatIso(moment))
      })
    )
  )

const doc = <const T>(description: string, example: T) => ({ description, examples: [example] })

const sendFields = {
  network: field(NetworkName, "Network of the relayer.", "testnet"),
  source_account: maybe(
    AccountAddress,
    doc(
      "The relayer's address, or the source of the envelope.",
      "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"
    )
  ),
  operations: maybe(Schema.Array(StellarOperation), {
    description: "1 to 100 operations, instead of `transaction_xdr`."
  }),
  transaction_xdr: maybe(
    Schema.String,
    doc(
      "An envelope in base64, instead of `operations`: unsigned, or signed by its source with `fee_bump`.",
      "AAAAAgAA"
    )
  ),
  memo: maybe(Memo, { description: "Memo, with `operations` only." }),
  valid_until: maybe(Deadline, doc("Deadline. If absent, two minutes; at most 7 days.", "2026-11-22T18:00:00.000Z")),
  fee_bump: maybe(Schema.Boolean, doc("Whether the relayer pays for an envelope that its source has signed.", true)),
  max_fee: maybe(Stroops, { ...doc("Stroops that an envelope may cost in all.", "1000000"), unit: "native" }),
  signed_auth_entry: maybe(
    Schema.String,
    doc(
      "The `user_auth_entry` that the service has built for a user, signed by the user, in base64. It is sent with the `transaction_xdr` of the same build.",
      "AAAAAA=="
    )
  ),
  external_id: maybe(text(1, maxExternalIdLength), doc("The caller's identifier, unique per relayer.", "order-1234")),
  not_before: maybe(Instant, doc("Moment before which nothing is signed.", "2026-11-22T12:00:00.000Z")),
  priority: maybe(Schema.Literals([-1, 0, 1]), doc("Order among the relayer's transactions. The default is 0.", 1)),
  wait_for_funds: maybe(
    Schema.Boolean,
    doc(
      "Whether it waits for funds until its deadline. The default is false: it fails after ten minutes without them.",
      true
    )
  ),
  restore_footprint: maybe(
    Schema.Boolean,
    doc("Whether the relayer pays to restore archived entries that the call needs. The default is false.", true)
  ),
  sequence: maybe(
    Sequence,
    doc("Sequence that the transaction must have: with another one it is never executed.", "257698037760000001")
  )
}

export const SendStellarTransaction = Schema.Struct(sendFields).annotate({
  identifier: "SendStellarTransactionRequest",
  description: "A transaction to send."
})
export type SendStellarTransaction = typeof SendStellarTransaction.Type

/** A replacement keeps its place and its name. */
export const ReplaceStellarTransaction = Schema.Struct(
  Struct.omit(sendFields, ["not_before", "sequence", "external_id", "priority"])
).annotate({
  identifier: "ReplaceStellarTransactionRequest",
  description: "What a transaction does instead."
})
export type ReplaceStellarTransaction = typeof ReplaceStellarTransaction.Type

export const SendStellarBatch = batchOf(SendStellarTransaction, {
  network: "testnet",
  transaction_xdr: "AAAAAgAA"
}).annotate({
  identifier: "SendStellarTransactionBatchRequest",
  description: "Transactions that are accepted together."
})

// What callers exchange with the service besides sends: envelopes that it signs for them, and transactions whose users pay in a token.

export const SignStellarTransaction = Schema.Struct({
  unsigned_xdr: field(
    Schema.String,
    "An envelope in base64 whose source is the relayer, without signatures. Its `maxTime` is at most 300 seconds ahead.",
    "AAAAAgAAAAA="
  )
}).annotate({ identifier: "SignStellarTransactionRequest", description: "An envelope to sign without sending it." })

/** Not checked: it was made by the service. */
const ShownBase64 = Shown.shaped(/^([A-Za-z0-9+/]{4}){1,20}$/)

export const SignedStellarTransaction = Schema.Struct({
  signedXdr: field(ShownBase64, "The envelope with the relayer's signature, in base64.", "AAAAAgAAAAA="),
  signature: field(ShownBase64, "The 64 bytes of the relayer's signature, in base64.", `${"A".repeat(86)}==`)
}).annotate({ identifier: "SignedStellarTransaction", description: "An envelope that the relayer signed." })

const exampleToken = "USDC:GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"

/** A transaction of a user, and the token that the user pays its fee in. */
const sponsored = {
  transaction_xdr: maybe(Schema.String, {
    description:
      "An envelope of the user in base64, signed or not, instead of `operations`. Its signatures are dropped.",
    examples: ["AAAAAgAAAAA="]
  }),
  operations: maybe(Schema.Array(StellarOperation), {
    description: "1 to 99 operations, or one call of a contract, instead of `transaction_xdr`."
  }),
  source_account: maybe(AccountAddress, {
    description: "The user's account. It must be given with `operations`.",
    examples: ["GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"]
  }),
  fee_token: field(
    Schema.String,
    "The token as `allowed_tokens` of the policy names it: CODE:ISSUER, or for a call of a contract the contract of the token.",
    exampleToken
  )
}

/** The fee as the user pays it. */
const feeInToken = {
  fee_in_token: field(Shown.Digits, "The fee in units of the token, with the margin of the policy.", "3000"),
  fee_in_token_ui: field(Shown.Decimal, "The same in whole tokens.", "0.0003"),
  max_fee_in_token: Schema.optionalKey(
    field(
      Shown.Digits,
      "Only for a call of a contract: the most that the user lets the forwarder take, which is the fee with the slippage of the policy.",
      "3030"
    )
  ),
  max_fee_in_token_ui: Schema.optionalKey(field(Shown.Decimal, "The same in whole tokens.", "0.000303"))
}

export const QuoteStellarTransaction = Schema.Struct(sponsored).annotate({
  identifier: "QuoteStellarTransactionRequest",
  description: "A transaction whose fee is to be quoted in a token."
})

export const StellarQuote = Schema.Struct({
  ...feeInToken,
  conversion_rate: field(Shown.Decimal, "Whole tokens that one XLM costs.", "0.25")
}).annotate({ identifier: "StellarQuote", description: "What a transaction costs its user." })

export type StellarQuoting = Exchange<typeof QuoteStellarTransaction.Type, typeof StellarQuote.Type>

export const BuildStellarTransaction = Schema.Struct(sponsored).annotate({
  identifier: "BuildStellarTransactionRequest",
  description: "A transaction that is to be built with a payment of its fee."
})

export const BuiltStellarTransaction = Schema.Struct({
  transaction: field(
    ShownBase64,
    "The unsigned envelope in base64: the operations of the user, and then a payment to the relayer, or the relayer's call of the forwarder.",
    "AAAAAgAAAAA="
  ),
  ...feeInToken,
  fee_in_stroops: field(Shown.Digits, "What the fee is worth, in stroops.", "1200"),
  fee_token: field(Shown.Words, "The token.", exampleToken),
  user_auth_entry: Schema.optionalKey(
    field(
      ShownBase64,
      "Only for a call of a contract: the authorization that the user signs, in base64. It is sent with the envelope as `signed_auth_entry`.",
      "AAAAAQAAAAA="
    )
  ),
  valid_until: field(Instant, "Until when the envelope is valid.", "2026-11-22T12:02:00.000Z")
}).annotate({ identifier: "BuiltStellarTransaction", description: "A transaction for the user to sign and send." })

export type StellarBuilding = Exchange<typeof BuildStellarTransaction.Type, typeof BuiltStellarTransaction.Type>

export type StellarSigning = Exchange<typeof SignStellarTransaction.Type, typeof SignedStellarTransaction.Type>
