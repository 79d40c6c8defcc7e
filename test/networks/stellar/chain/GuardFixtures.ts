// Terms of the guard, and envelopes of attackers, for the tests of the guard.
import { Result } from "effect"
import * as lib from "@stellar/stellar-sdk/base"
import type { Keypair, xdr } from "@stellar/stellar-sdk/base"
import { authOf, decodeWith } from "../../../../src/networks/stellar/chain/StellarDecoding.ts"
import { networkIdOf } from "../../../../src/networks/stellar/chain/StellarLibrary.ts"
import type {
  AuthEntry,
  Envelope,
  GuardTerms,
  Refusal,
  TransactionEnvelope
} from "../../../../src/networks/stellar/rules/Envelope.ts"
import { guard } from "../../../../src/networks/stellar/rules/Guard.ts"
import type { GuardMode } from "../../../../src/networks/stellar/rules/Guard.ts"
import { altered, call, keyNamed, passphrase, payment, transaction } from "../../../../testkit/stellar/Building.ts"
import type { Building } from "../../../../testkit/stellar/Building.ts"
import { nativeContract } from "../../../../testkit/stellar/Contracts.ts"

export const now = 1_900_000_000

/** `sibling`: another relayer of the service. */
export const [relayer, channel, sibling, user, attacker] = [
  keyNamed("relayer"),
  keyNamed("channel"),
  keyNamed("sibling"),
  keyNamed("user"),
  keyNamed("attacker")
]

export const native = nativeContract(passphrase)

export const terms: GuardTerms = {
  relayer: relayer.publicKey(),
  own: new Set([relayer.publicKey(), channel.publicKey(), sibling.publicKey()]),
  nativeContract: native,
  now,
  strategy: "relayer",
  allowedOperations: [],
  allowedTokens: [],
  maxSubentries: 20,
  timeLimit: 300,
  cap: 1_000_000n,
  rate: 200n,
  baseReserve: 5_000_000n
}

export const sequence = 257_698_037_760_000_001n

/** Valid for a minute. */
export const built = (
  source: Keypair | string,
  operations: ReadonlyArray<xdr.Operation>,
  given: Partial<Building> = {}
): string => transaction(source, operations, { sequence, maxTime: now + 60, ...given }).toXDR()

export const decoded = (text: string, own: Iterable<string> = terms.own): Result.Result<Envelope, Refusal> =>
  decodeWith(lib, text, { networkId: networkIdOf(passphrase), known: own })

export const envelopeOf = (text: string): TransactionEnvelope => {
  const envelope = Result.getOrThrow(decoded(text))
  if (envelope.kind !== "transaction") throw new Error(envelope.kind)
  return envelope
}

/** `accepted`, or the code of the refusal. */
export const verdict = (mode: GuardMode, text: string, given: Partial<GuardTerms> = {}): string => {
  const result = Result.flatMap(decoded(text, given.own), (envelope) => guard(mode, envelope, { ...terms, ...given }))
  return Result.isSuccess(result) ? "accepted" : result.failure.code
}

export const entryOf = (entry: xdr.SorobanAuthorizationEntry): AuthEntry => authOf(lib, entry)

/** The relayer with an id behind its key. */
export const muxed = (key: Keypair): string =>
  lib.StrKey.encodeMed25519PublicKey(Buffer.concat([key.rawPublicKey(), Buffer.alloc(8, 1)]))

export const resources = { resourceFee: 1000n }

/** Credit that the attacker issues. */
export const dust = new lib.Asset("DUST", attacker.publicKey())

export const pay = (source?: Parameters<typeof payment>[2]): xdr.Operation => payment(attacker, 10_000_000_000n, source)

/** Of the relayer's account, unsigned. */
export const own = (operations: ReadonlyArray<xdr.Operation>, given: Partial<Building> = {}): string =>
  built(relayer, operations, given)

/** Of the user's account, signed by the user. */
export const theirs = (operations: ReadonlyArray<xdr.Operation>, given: Partial<Building> = {}): string =>
  built(user, operations, { signers: [user], ...given })

/** An envelope of the format V0. */
export const v0 = lib.xdr.TransactionEnvelope.envelopeTypeTxV0(
  new lib.xdr.TransactionV0Envelope({
    tx: new lib.xdr.TransactionV0({
      sourceAccountEd25519: user.rawPublicKey(),
      fee: 100,
      seqNum: 5n,
      timeBounds: null,
      memo: lib.xdr.Memo.memoNone(),
      operations: [pay()],
      ext: lib.xdr.TransactionV0Ext.v0()
    }),
    signatures: []
  })
).toXdr("base64")

/** A call with an argument of so many vectors in vectors. */
export const nested = (depth: number): string => {
  const bytes = Buffer.from(own([call("go", [lib.xdr.ScVal.scvVec([lib.xdr.ScVal.scvVoid()])])], resources), "base64")
  // A vector with one element: SCV_VEC, present, length 1.
  const level = Buffer.from("000000100000000100000001", "hex")
  const at = bytes.indexOf(level)
  const levels = Array.from({ length: depth - 1 }, () => level)
  return Buffer.concat([bytes.subarray(0, at), ...levels, bytes.subarray(at)]).toString("base64")
}

/** A row of the table of attacks. */
export type Row = readonly [
  number: number,
  attack: string,
  mode: GuardMode,
  text: string,
  expected: string,
  terms?: Partial<GuardTerms>
]

export const cases = (rows: ReadonlyArray<Row>) =>
  rows.map(([number, attack, mode, text, expected, given = {}]) => ({ number, attack, mode, text, expected, given }))

export { altered }
