// Attacks on the XLM of a relayer, by the rows of the table of attacks (docs/security/stellar.md), as requests of a client.
import type { Keypair, xdr } from "@stellar/stellar-sdk/base"
import { Asset, Claimant, Operation, StrKey } from "@stellar/stellar-sdk/base"
import {
  addressEntry,
  addressValue,
  amountValue,
  call,
  envelope,
  feeBump,
  invocation,
  keyNamed,
  payment,
  sourceEntry,
  transaction
} from "./Building.ts"
import type { Building } from "./Building.ts"
import { counterContract, nativeContract } from "./Contracts.ts"

const attacker = keyNamed("attacker")
const destination = attacker.publicKey()
const dust = new Asset("DUST", destination)
const price = "0.0000001"
const poolId = "ab".repeat(32)
const balanceId = `00000000${"ab".repeat(32)}`

/** What the attacks are made for. */
export interface Target {
  readonly address: string
  /** Another account of the service, such as a channel. */
  readonly other: string
  readonly passphrase: string
  /** Unix seconds. */
  readonly now: number
  /** A sequence that the relayer has not used. */
  readonly sequence: bigint
  /** An account of the client, with its next sequence. */
  readonly user: { readonly key: Keypair; readonly sequence: bigint }
  /** Envelopes that an account of the service has signed for somebody else. */
  readonly signed?: ReadonlyArray<string>
}

const trust = (count: number) =>
  Array.from({ length: count }, (_, index) => Operation.changeTrust({ asset: new Asset(`A${index}`, destination) }))

/** Calls that take XLM of the relayer: rows 15 to 17 and 42. */
const calls = ({ address, other, passphrase }: Target): ReadonlyArray<readonly [row: number, xdr.Operation]> => {
  const native = nativeContract(passphrase)
  const all = [addressValue(address), addressValue(attacker), amountValue(1_000_000_000n)]
  const tree = (contract: string, name: string, below: ReadonlyArray<xdr.SorobanAuthorizedInvocation> = []) =>
    sourceEntry(invocation(contract, name, all, below))
  return [
    [15, call("transfer", all)],
    [16, call("go", [], { auth: [addressEntry(address, invocation(counterContract, "go"))] })],
    [16, call("go", [], { auth: [addressEntry(other, invocation(counterContract, "go"))] })],
    [17, call("transfer", all, { auth: [tree(counterContract, "transfer", [invocation(native, "transfer", all)])] })],
    [42, call("transfer", all, { contract: native, auth: [tree(native, "transfer")] })],
    [42, call("approve", all, { contract: native, auth: [tree(native, "approve")] })],
    [42, call("burn", all, { contract: native, auth: [tree(native, "burn")] })]
  ]
}

/** Operations of the relayer's account without a call. */
const operations = ({
  address,
  other
}: Target): ReadonlyArray<readonly [row: number, ReadonlyArray<xdr.Operation>]> => [
  [1, [payment(attacker, 1n)]],
  [3, [Operation.accountMerge({ destination })]],
  [4, [Operation.setOptions({ signer: { ed25519PublicKey: destination, weight: 255 } })]],
  [4, [payment(attacker, 1n), Operation.setOptions({ masterWeight: 0 })]],
  [5, [Operation.bumpSequence({ bumpTo: String(2n ** 63n - 1n) })]],
  [6, [Operation.beginSponsoringFutureReserves({ sponsoredId: destination })]],
  [6, [Operation.endSponsoringFutureReserves({})]],
  [6, [Operation.revokeAccountSponsorship({ account: address })]],
  [
    7,
    [Operation.createClaimableBalance({ asset: Asset.native(), amount: "9", claimants: [new Claimant(destination)] })]
  ],
  [7, [Operation.createAccount({ destination: keyNamed("fresh").publicKey(), startingBalance: "500" })]],
  [7, [Operation.claimClaimableBalance({ balanceId })]],
  [8, Array.from({ length: 64 }, (_, index) => Operation.manageData({ name: `k${index}`, value: "v" }))],
  [8, trust(1)],
  [8, trust(21)],
  [9, [Operation.manageSellOffer({ selling: Asset.native(), buying: dust, amount: "1000", price })]],
  [9, [Operation.createPassiveSellOffer({ selling: Asset.native(), buying: dust, amount: "1000", price })]],
  [9, [Operation.manageBuyOffer({ selling: Asset.native(), buying: dust, buyAmount: "1000", price: "1000" })]],
  [
    10,
    [
      Operation.pathPaymentStrictReceive({
        sendAsset: Asset.native(),
        sendMax: "500",
        destination,
        destAsset: dust,
        destAmount: "1",
        path: []
      })
    ]
  ],
  [11, [Operation.clawback({ asset: dust, amount: "1", from: destination })]],
  [11, [Operation.clawbackClaimableBalance({ balanceId })]],
  [11, [Operation.allowTrust({ trustor: destination, assetCode: "DUST", authorize: true })]],
  [11, [Operation.setTrustLineFlags({ trustor: destination, asset: dust, flags: { authorized: true } })]],
  [
    12,
    [
      Operation.liquidityPoolDeposit({
        liquidityPoolId: poolId,
        maxAmountA: "500",
        maxAmountB: "1",
        minPrice: "1",
        maxPrice: "1"
      })
    ]
  ],
  [
    12,
    [
      Operation.liquidityPoolWithdraw({
        liquidityPoolId: poolId,
        amount: "1",
        minAmountA: "1",
        minAmountB: "1"
      })
    ]
  ],
  [13, [payment(attacker, 1n, other)]]
]

export interface Attack {
  readonly row: number
  /** An unsigned envelope, which is also tried with `sign-transaction`, or one that asks for a fee bump. */
  readonly form: "unsigned" | "bump"
  readonly xdr: string
}

/** Envelopes without signatures, of the relayer or of another account of the service. */
const unsigned = (target: Target): ReadonlyArray<Attack> => {
  const { address, now, other, passphrase, sequence } = target
  const given = { sequence, maxTime: now + 200, network: passphrase }
  const of = (
    row: number,
    source: string,
    all: ReadonlyArray<xdr.Operation>,
    more: Partial<Building> = {}
  ): Attack => ({
    row,
    form: "unsigned",
    xdr: transaction(source, all, { ...given, ...more }).toXDR()
  })
  const pay = [payment(attacker, 1n)]
  const resources = { resourceFee: 50_000n }
  return [
    ...operations(target).map(([row, all]) => of(row, address, all)),
    ...calls(target).map(([row, one]) => of(row, address, [one], resources)),
    of(14, other, pay),
    of(14, destination, pay),
    of(18, address, [...pay, call("go")]),
    of(19, address, pay, { signers: [attacker] }),
    of(34, address, pay, { conditions: { minAccountSequence: "1" } }),
    of(34, address, pay, { conditions: { extraSigners: [destination] } }),
    of(38, address, pay, { maxTime: now + 31_536_000 }),
    of(38, address, pay, { maxTime: 0 })
  ]
}

/** The muxed spelling of an account. */
export const muxed = (address: string): string =>
  StrKey.encodeMed25519PublicKey(Buffer.concat([StrKey.decodeEd25519PublicKey(address), Buffer.alloc(8, 1)]))

/** Stroops that the user does not have. */
const missing = 10n ** 15n

/** Envelopes of the user, who wants the relayer to pay for them. */
const bumps = (target: Target): ReadonlyArray<Attack> => {
  const { address, now, other, passphrase, signed = [], user } = target
  const given = { sequence: user.sequence, maxTime: now + 100, network: passphrase }
  const of = (row: number, all: ReadonlyArray<xdr.Operation>, more: Partial<Building> = {}): Attack => ({
    row,
    form: "bump",
    xdr: envelope(user.key, all, { ...given, ...more })
  })
  const pay = [payment(attacker, 1n)]
  const inner = of(0, pay).xdr
  const text = (row: number, xdr: string): Attack => ({ row, form: "bump", xdr })
  return [
    text(20, transaction(address, pay, { ...given, signers: [user.key] }).toXDR()),
    text(20, transaction(other, pay, { ...given, signers: [user.key] }).toXDR()),
    of(21, [payment(attacker, 1n, address)]),
    of(21, [payment(attacker, 1n, muxed(address))]),
    of(21, [
      Operation.beginSponsoringFutureReserves({ sponsoredId: user.key.publicKey(), source: address }),
      Operation.changeTrust({ asset: dust }),
      Operation.endSponsoringFutureReserves({})
    ]),
    ...signed.map((one) => text(22, one)),
    of(23, [call("go", [], { auth: [addressEntry(address, invocation(counterContract, "go"))] })], {
      resourceFee: 50_000n
    }),
    of(23, [call("go", [], { auth: [addressEntry(other, invocation(counterContract, "go"))] })], {
      resourceFee: 50_000n
    }),
    of(23, [call("go", [], { source: address, auth: [sourceEntry(invocation(counterContract, "go"))] })], {
      resourceFee: 50_000n
    }),
    of(24, pay, { fee: 4_000_000_000n }),
    of(25, [call("increment")], { resourceFee: 1_000_000_000n }),
    of(
      26,
      Array.from({ length: 100 }, () => payment(attacker, 1n)),
      { fee: 100_000n }
    ),
    of(27, pay, { maxTime: 0 }),
    of(27, pay, { maxTime: now + 31_536_000 }),
    of(27, pay, { maxTime: now - 1 }),
    of(27, pay, { minTime: now + 60 }),
    of(28, pay, { network: "Public Global Stellar Network ; September 2015" }),
    of(29, pay, { sequence: 1n }),
    of(29, pay, { sequence: user.sequence + 1_000_000n, maxTime: now + 40 }),
    of(33, [payment(attacker, missing)]),
    of(34, pay, { conditions: { minAccountSequenceAge: 1n } }),
    text(35, feeBump(user.key, inner, 1000n)),
    text(36, inner.slice(0, -8)),
    text(36, `${inner.slice(0, 8)} ${inner.slice(8)}`),
    text(36, Buffer.concat([Buffer.from(inner, "base64"), Buffer.alloc(4)]).toString("base64")),
    text(36, "A".repeat(131_076))
  ]
}

/** All that are one envelope each, on a relayer that pays itself. */
export const attacks = (target: Target): ReadonlyArray<Attack> => [...unsigned(target), ...bumps(target)]
