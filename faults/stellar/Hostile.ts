// The requests of a hostile client to stellar relayers: the rows of the table of attacks.
import type { Keypair } from "@stellar/stellar-sdk/base"
import { Asset, Claimant, Operation } from "@stellar/stellar-sdk/base"
import { Effect } from "effect"
import type { Listening } from "../../testkit/process/Service.ts"
import { attacks, muxed } from "../../testkit/stellar/Attacks.ts"
import type { Target } from "../../testkit/stellar/Attacks.ts"
import {
  addressEntry,
  call,
  envelope,
  invocation,
  keyNamed,
  payment,
  transaction
} from "../../testkit/stellar/Building.ts"
import { counterContract } from "../../testkit/stellar/Contracts.ts"
import { credit, payCredit } from "../../testkit/stellar/Credits.ts"
import type { Request } from "../sending/Attacking.ts"
import type { Relayer } from "../sending/Relayers.ts"
import * as Chain from "./Chain.ts"

/** Accounts of the client. */
export const users = Array.from({ length: 4 }, (_, index) => keyNamed(`user ${index} of the drain`))
/** Accounts of the client whose envelopes are valid: the client sends them to nodes as well, and uses their sequences otherwise. */
export const racers = Array.from({ length: 2 }, (_, index) => keyNamed(`racer ${index} of the drain`))

export const attacker = keyNamed("attacker")

/** Seconds for which envelopes of the client are valid. */
const validity = 100

export const now = () => Math.floor((performance.timeOrigin + performance.now()) / 1000)

const at = ({ id }: Relayer, suffix: string) => `/api/v1/relayers/${id}${suffix}`

const bump = (relayer: Relayer, transaction_xdr: string): Request => ({
  path: at(relayer, "/transactions"),
  body: { network: "stand-in", transaction_xdr, fee_bump: true }
})

/** Each attack by each endpoint that takes it. */
export const requestsOn = (relayer: Relayer, target: Target): ReadonlyArray<Request> => [
  ...attacks(target).flatMap(({ form, xdr: text }): ReadonlyArray<Request> => {
    if (form === "bump") return [bump(relayer, text)]
    const body = { network: "stand-in", transaction_xdr: text }
    return [
      { path: at(relayer, "/sign-transaction"), body: { unsigned_xdr: text } },
      { path: at(relayer, "/transactions"), body },
      { path: at(relayer, "/transactions/batch"), body: { transactions: [body] } }
    ]
  }),
  // Row 1 in the form that the service builds.
  {
    path: at(relayer, "/transactions"),
    body: {
      network: "stand-in",
      operations: [{ type: "payment", destination: attacker.publicKey(), amount: "1", asset: { type: "native" } }]
    }
  },
  // Row 37: an envelope that was not built here.
  {
    path: at(relayer, "/transactions"),
    body: {
      network: "stand-in",
      transaction_xdr: attacks(target)[0]?.xdr,
      signed_auth_entry: addressEntry(target.user.key, invocation(counterContract, "go")).toXdr("base64")
    }
  },
  // Row 41.
  {
    path: at(relayer, "/rpc"),
    body: {
      jsonrpc: "2.0",
      id: 1,
      method: "sendTransaction",
      params: { transaction: envelope(target.user.key, [payment(attacker, 1n)], { sequence: 1n }) }
    }
  }
]

/**
 * Rows 30 to 32: one envelope goes to two relayers and twice to one of them, while its user sends it to a node, too, or uses its
 * sequence for something else.
 */
export const racesOn = (chain: Chain.Chain, relayers: ReadonlyArray<Relayer>, racer: Keypair, isOther: boolean) => {
  const given = {
    sequence: Chain.sequenceOf(chain, racer.publicKey()) + 1n,
    maxTime: now() + validity,
    network: chain.passphrase
  }
  const inner = envelope(racer, [payment(attacker, 1n)], given)
  chain.network.submit(0, isOther ? envelope(racer, [payment(attacker, 2n)], given) : inner)
  return relayers.flatMap((relayer) => [bump(relayer, inner), bump(relayer, inner)])
}

/** Row 22: an envelope of the relayer that `sign-transaction` has signed for somebody else. It is never sent. */
export const signedBy = Effect.fnUntraced(function* (service: Listening, chain: Chain.Chain, relayer: Relayer) {
  const given = {
    sequence: Chain.sequenceOf(chain, relayer.address) + 100_000n,
    maxTime: now() + validity,
    network: chain.passphrase
  }
  const unsigned_xdr = transaction(relayer.address, [payment(attacker, 1n)], given).toXDR()
  const { status, text } = yield* service.call(at(relayer, "/sign-transaction"), { body: { unsigned_xdr } })
  if (status !== 200) return yield* Effect.die(new Error(text))
  return (JSON.parse(text) as { readonly data: { readonly signedXdr: string } }).data.signedXdr
})

/** Rows 2, 39 and 40, on a relayer whose users pay in a token: envelopes that pay it with something else, or with too little. */
export const sponsoredOn = (relayer: Relayer, { passphrase, user }: Target): ReadonlyArray<Request> => {
  const of = (...paid: Parameters<typeof envelope>[1]) =>
    bump(
      relayer,
      envelope(user.key, [payment(attacker, 1n), ...paid], {
        sequence: user.sequence,
        maxTime: now() + validity,
        network: passphrase
      })
    )
  return [
    of(),
    of(payment(relayer.address, 1000n)),
    of(payCredit(relayer.address, 1n)),
    of(payCredit(muxed(relayer.address), 1000n)),
    of(Operation.createClaimableBalance({ asset: credit, amount: "1000", claimants: [new Claimant(relayer.address)] })),
    of(
      Operation.pathPaymentStrictSend({
        sendAsset: Asset.native(),
        sendAmount: "0.0000001",
        destination: relayer.address,
        destAsset: credit,
        destMin: "0.0000001",
        path: []
      })
    ),
    // The issuer can take it back.
    of(payCredit(relayer.address, 1000n)),
    of(call("go")),
    {
      path: at(relayer, "/transactions"),
      body: {
        network: "stand-in",
        operations: [{ type: "payment", destination: attacker.publicKey(), amount: "1", asset: { type: "native" } }]
      }
    }
  ]
}
