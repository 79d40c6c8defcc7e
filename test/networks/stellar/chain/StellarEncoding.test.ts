// The same transaction built by the service and by the library's TransactionBuilder has the same hash.
import { Effect, Result, Schema } from "effect"
import { assert, describe, it } from "@effect/vitest"
import * as lib from "@stellar/stellar-sdk/base"
import {
  Account,
  Address,
  Asset,
  Memo,
  nativeToScVal,
  Operation,
  SorobanDataBuilder,
  TransactionBuilder,
  xdr
} from "@stellar/stellar-sdk/base"
import * as Json from "../../../../src/api/Json.ts"
import { decode } from "../../../../src/networks/stellar/chain/StellarDecoding.ts"
import { build, onChannel } from "../../../../src/networks/stellar/chain/StellarEncoding.ts"
import type { Draft } from "../../../../src/networks/stellar/chain/StellarEncoding.ts"
import { networkIdOf, scValFromXdr, scValToXdr } from "../../../../src/networks/stellar/chain/StellarLibrary.ts"
import { SendStellarTransaction } from "../../../../src/networks/stellar/rules/StellarRequests.ts"
import { addressEntry, invocation, passphrase, sourceEntry } from "../../../../testkit/stellar/Building.ts"
import { counterContract } from "../../../../testkit/stellar/Contracts.ts"
import { attacker, channel, muxed, now, relayer, sequence } from "./GuardFixtures.ts"

const networkId = networkIdOf(passphrase)
const issuer = attacker.publicKey()
const hash = "ab".repeat(32)
const contract_address = counterContract

const request = (body: object) =>
  Result.getOrThrow(
    Schema.decodeResult(Json.fromText(SendStellarTransaction), { errors: "all", onExcessProperty: "error" })(
      JSON.stringify({ network: "testnet", ...body })
    )
  )

type Given = Partial<Omit<Draft, "memo" | "operations">>

const ours = (body: object, given: Given = {}) => {
  const { memo, operations = [] } = request(body)
  return build(
    {
      source: relayer.publicKey(),
      sequence,
      fee: 100n * BigInt(operations.length),
      maxTime: BigInt(now + 60),
      operations,
      ...(memo === undefined ? {} : { memo }),
      ...given
    },
    networkId
  )
}

const theirs = (
  operations: ReadonlyArray<xdr.Operation>,
  memo: Memo = Memo.none(),
  {
    source = relayer.publicKey(),
    data,
    maxLedger
  }: { source?: string; data?: xdr.SorobanTransactionData; maxLedger?: number } = {}
) => {
  const builder = new TransactionBuilder(new Account(source, String(sequence - 1n)), {
    fee: "100",
    networkPassphrase: passphrase,
    timebounds: { minTime: 0, maxTime: now + 60 },
    memo,
    ...(maxLedger === undefined ? {} : { ledgerbounds: { minLedger: 0, maxLedger } })
  })
  for (const operation of operations) builder.addOperation(operation)
  if (data !== undefined) builder.setSorobanData(data)
  return Buffer.from(builder.build().hash()).toString("hex")
}

const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex")

const amounts = { amount: "1", asset: { type: "native" }, destination: issuer, type: "payment" }
const pay = Operation.payment({ destination: issuer, asset: Asset.native(), amount: "0.0000001" })

const args = [{ u64: "18446744073709551615" }, { bool: true }, { symbol: "up" }, { bytes: "00ff" }]
const scArgs = [
  nativeToScVal(2n ** 64n - 1n, { type: "u64" }),
  xdr.ScVal.scvBool(true),
  xdr.ScVal.scvSymbol("up"),
  xdr.ScVal.scvBytes(Buffer.from("00ff", "hex"))
]
const rootCall = invocation(counterContract, "go", scArgs)
const invoke = { type: "invoke_contract", contract_address, function_name: "go", args }
const invoked = (auth: Array<xdr.SorobanAuthorizationEntry>) =>
  Operation.invokeContractFunction({ contract: counterContract, function: "go", args: scArgs, auth })

const entry = addressEntry(attacker, rootCall, 500)

const creation = {
  type: "create_contract",
  source: { from: "address", address: relayer.publicKey() },
  wasm_hash: hash,
  salt: "cd".repeat(32)
}
interface CreatedBy {
  readonly auth?: Array<xdr.SorobanAuthorizationEntry>
  readonly from?: string
  /** Two hex digits. */
  readonly salt?: string
}

const created = (
  constructorArgs: Array<xdr.ScVal>,
  { auth = [], from = relayer.publicKey(), salt = "cd" }: CreatedBy = {}
) =>
  Operation.createCustomContract({
    address: new Address(from),
    wasmHash: Buffer.from(hash, "hex"),
    salt: Buffer.from(salt.repeat(32), "hex"),
    constructorArgs,
    auth
  })

/** What the source authorizes if it creates the contract. */
const creationEntry = () => {
  const { body } = created([])
  if (body.type !== "invokeHostFunction") throw new Error(body.type)
  const { hostFunction } = body.invokeHostFunctionOp
  if (hostFunction.type !== "hostFunctionTypeCreateContractV2") throw new Error(hostFunction.type)
  const root = xdr.SorobanAuthorizedFunction.sorobanAuthorizedFunctionTypeCreateContractV2HostFn(
    hostFunction.createContractV2
  )
  return sourceEntry(new xdr.SorobanAuthorizedInvocation({ function: root, subInvocations: [] }))
}

const rows: ReadonlyArray<readonly [name: string, body: object, expected: string]> = [
  ["a payment of one stroop", { operations: [amounts] }, theirs([pay])],
  [
    "a payment of 2^63−1",
    { operations: [{ ...amounts, amount: "9223372036854775807" }] },
    theirs([Operation.payment({ destination: issuer, asset: Asset.native(), amount: "922337203685.4775807" })])
  ],
  [
    "a payment to a muxed account",
    { operations: [{ ...amounts, destination: muxed(attacker) }] },
    theirs([Operation.payment({ destination: muxed(attacker), asset: Asset.native(), amount: "0.0000001" })])
  ],
  ...(
    [
      ["credit4", "USD"],
      ["credit_alphanum4", "USD"],
      ["credit12", "EUROS"],
      ["credit_alphanum12", "EUROS"]
    ] as const
  ).map(
    ([type, code]) =>
      [
        `a payment of ${type}`,
        { operations: [{ ...amounts, asset: { type, code, issuer } }] },
        theirs([Operation.payment({ destination: issuer, asset: new Asset(code, issuer), amount: "0.0000001" })])
      ] as const
  ),
  [
    "100 payments",
    { operations: Array.from({ length: 100 }, () => amounts) },
    theirs(Array.from({ length: 100 }, () => pay))
  ],
  ["no memo", { operations: [amounts], memo: { type: "none" } }, theirs([pay])],
  [
    "a memo of text",
    { operations: [amounts], memo: { type: "text", value: "hällo" } },
    theirs([pay], Memo.text("hällo"))
  ],
  [
    "a memo id of 2^64−1",
    { operations: [amounts], memo: { type: "id", value: "18446744073709551615" } },
    theirs([pay], Memo.id("18446744073709551615"))
  ],
  ["a memo id as a number", { operations: [amounts], memo: { type: "id", value: 7 } }, theirs([pay], Memo.id("7"))],
  ["a memo of a hash", { operations: [amounts], memo: { type: "hash", value: hash } }, theirs([pay], Memo.hash(hash))],
  [
    "a memo of a hash in bytes",
    { operations: [amounts], memo: { type: "hash", value: Array.from({ length: 32 }, () => 171) } },
    theirs([pay], Memo.hash(hash))
  ],
  [
    "a memo of a return",
    { operations: [amounts], memo: { type: "return", value: hash } },
    theirs([pay], Memo.return(hash))
  ],
  ["a call without auth", { operations: [invoke] }, theirs([invoked([sourceEntry(rootCall)])])],
  ["a call with auth none", { operations: [{ ...invoke, auth: { type: "none" } }] }, theirs([invoked([])])],
  [
    "a call with auth of the source",
    { operations: [{ ...invoke, auth: { type: "source_account" } }] },
    theirs([invoked([sourceEntry(rootCall)])])
  ],
  [
    "a call with auth in XDR",
    { operations: [{ ...invoke, auth: { type: "xdr", entries: [entry.toXdr("base64")] } }] },
    theirs([invoked([entry])])
  ],
  [
    "an upload in hex",
    { operations: [{ type: "upload_wasm", wasm: { type: "hex", hex: "0061736d" } }] },
    theirs([Operation.uploadContractWasm({ wasm: Buffer.from("0061736d", "hex") })])
  ],
  [
    "an upload in base64",
    { operations: [{ type: "upload_wasm", wasm: { base64: "AGFzbQ==" } }] },
    theirs([Operation.uploadContractWasm({ wasm: Buffer.from("0061736d", "hex") })])
  ],
  ["a creation", { operations: [{ ...creation, auth: { type: "none" } }] }, theirs([created([])])],
  ["a creation without auth", { operations: [creation] }, theirs([created([], { auth: [creationEntry()] })])],
  [
    "a creation by a contract",
    { operations: [{ ...creation, source: { from: "contract", contract: counterContract }, auth: { type: "none" } }] },
    theirs([created([], { from: counterContract })])
  ],
  [
    "a creation without salt",
    { operations: [{ ...creation, salt: undefined, auth: { type: "none" } }] },
    theirs([created([], { salt: "00" })])
  ],
  [
    "a creation with arguments",
    { operations: [{ ...creation, constructor_args: args, auth: { type: "none" } }] },
    theirs([created(scArgs)])
  ]
]

describe("a transaction that the service builds", () => {
  it.effect.each(rows)("has the hash of the library's: %s", ([, body, expected]) =>
    Effect.gen(function* () {
      const built = yield* ours(body)
      assert.strictEqual(hexOf(built.hash), expected)
      const decoded = yield* decode(built.envelope, { networkId, known: [] })
      assert.include(Result.getOrThrow(decoded), { kind: "transaction", hash: expected, sequence })
    })
  )

  it.effect("has recorded authorizations, Soroban data, a last ledger and the source of a channel", () =>
    Effect.gen(function* () {
      const data = new SorobanDataBuilder().setResourceFee(5000n).setResources(1, 2, 3).build()
      const auth = { type: "addresses", signers: [issuer] }
      const given = { recorded: [entry.toXdr("base64")], sorobanData: data.toXdr("base64"), fee: 5100n, maxLedger: 501 }
      const built = yield* ours({ operations: [{ ...invoke, auth }] }, given)
      assert.strictEqual(hexOf(built.hash), theirs([invoked([entry])], Memo.none(), { data, maxLedger: 501 }))
      const own = yield* ours({ operations: [amounts] })
      const using = { relayer: relayer.publicKey(), channel: channel.publicKey(), fee: () => 100n }
      const moved = onChannel(lib, own.envelope, using, networkId)
      assert.isTrue(moved.needsRelayer)
      const operation = Operation.payment({
        destination: issuer,
        asset: Asset.native(),
        amount: "0.0000001",
        source: relayer.publicKey()
      })
      assert.strictEqual(hexOf(moved.hash), theirs([operation], Memo.none(), { source: channel.publicKey() }))
    })
  )

  it.effect("has the sequence 2^63−1 digit for digit", () =>
    Effect.gen(function* () {
      const highest = 2n ** 63n - 1n
      const built = yield* ours({ operations: [amounts] }, { sequence: highest })
      const decoded = yield* decode(built.envelope, { networkId, known: [] })
      assert.include(Result.getOrThrow(decoded), { sequence: highest })
    })
  )
})

describe("a value of a contract", () => {
  it.each([
    [{ bool: false }],
    [{ void: null }],
    [{ u32: 4_294_967_295 }],
    [{ i32: -2_147_483_648 }],
    [{ u64: 2n ** 64n - 1n }],
    [{ i64: -(2n ** 63n) }],
    [{ timepoint: 1n }],
    [{ duration: 2n }],
    [{ u128: { hi: 1n, lo: 2n ** 64n - 1n } }],
    [{ i128: { hi: -1n, lo: 5n } }],
    [{ u256: { hi_hi: 1n, hi_lo: 2n, lo_hi: 3n, lo_lo: 4n } }],
    [{ i256: { hi_hi: -1n, hi_lo: 2n, lo_hi: 3n, lo_lo: 4n } }],
    [{ bytes: "00ff" }],
    [{ string: "hällo" }],
    [{ symbol: "transfer" }],
    [{ address: relayer.publicKey() }],
    [{ address: counterContract }],
    [{ vec: [{ u32: 1 }, { vec: [] }] }],
    [{ map: [{ key: { symbol: "a" }, val: { i128: { hi: 0n, lo: 7n } } }] }]
  ])("survives XDR: %o", (value) => {
    assert.deepStrictEqual(scValFromXdr(lib, scValToXdr(lib, value)), value)
  })

  it("has no plain form if only contracts have it", () => {
    assert.isUndefined(scValFromXdr(lib, xdr.ScVal.scvLedgerKeyContractInstance()))
    assert.isUndefined(scValFromXdr(lib, xdr.ScVal.scvVec([xdr.ScVal.scvLedgerKeyContractInstance()])))
  })
})
