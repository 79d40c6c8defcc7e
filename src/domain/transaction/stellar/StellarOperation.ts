// Operations, assets, memos and authorizations of requests, as clients of the wire format write them.
import { Schema, SchemaGetter, SchemaTransformation } from "effect"
import { field } from "../../request/Field.ts"
import { list, maybe, text } from "../../request/Text.ts"
import { integerFrom, maxUint64, Stroops } from "./Int64.ts"
import { ScVal } from "./ScVal.ts"
import { maxMemoBytes, maxWasmBytes } from "./StellarNumbers.ts"
import { AccountAddress, AnyAddress, ContractAddress, DestinationAddress } from "./StrKey.ts"

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

const address = "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"
const contract = "CDL74RF5BLYR2YBLCCI7F5FB6TPSCLKEJUBSD2RSVWZ4YHF3VMFAIGWA"
const hash = "5c5e6f80".repeat(8)

const issuer = field(AccountAddress, "Account that issues the asset.", address)

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
    value: field(Hash, "32 bytes, in hex or as a list.", hash)
  }),
  Schema.Struct({
    type: field(Schema.Literal("return"), "The hash of what is returned.", "return"),
    value: field(Hash, "32 bytes, in hex or as a list.", hash)
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
    signers: field(list(AnyAddress), "Contracts whose authorizations are recorded.", [contract])
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
    address: field(AccountAddress, "The relayer's account.", address)
  }),
  Schema.Struct({
    from: field(Schema.Literal("contract"), "The address follows from that of a contract.", "contract"),
    contract: field(ContractAddress, "The contract.", contract)
  })
]).annotate({ identifier: "StellarContractSource", description: "What the address of the contract follows from." })

const Payment = Schema.Struct({
  type: field(Schema.Literal("payment"), "A payment.", "payment"),
  destination: field(DestinationAddress, "Receiver, `G…` or `M…`.", address),
  amount: field(Stroops, "Stroops, or the smallest unit of the credit.", "10000000"),
  asset: Asset
})

const InvokeContract = Schema.Struct({
  type: field(Schema.Literal("invoke_contract"), "A call of a contract.", "invoke_contract"),
  contract_address: field(ContractAddress, "Contract that is called.", contract),
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
  wasm_hash: field(HexHash, "Hash of the code, in hex.", hash),
  salt: maybe(HexHash, { description: "32 bytes in hex. If absent, zeros.", examples: [hash] }),
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

export const NetworkName = text(1, 256)
