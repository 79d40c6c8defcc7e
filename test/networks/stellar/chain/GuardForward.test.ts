// Calls of the forwarder that the relayer signs for users who pay in a token. They are built by the library, not by the code under test.
import { Result } from "effect"
import { assert, describe, it } from "@effect/vitest"
import { nativeToScVal, xdr } from "@stellar/stellar-sdk/base"
import { entryProblem, forwardingIn } from "../../../../src/networks/stellar/rules/SponsoredPayment.ts"
import {
  addressEntry,
  addressValue,
  amountValue,
  call,
  invocation,
  payment,
  sourceEntry
} from "../../../../testkit/stellar/Building.ts"
import { counterContract, forwarderContract, tokenContract } from "../../../../testkit/stellar/Contracts.ts"
import { attacker, built, channel, entryOf, envelopeOf, own, relayer, theirs, user, verdict } from "./GuardFixtures.ts"

const until = 500

const u32 = (value: number) => nativeToScVal(value, { type: "u32" })

interface Given {
  readonly token?: xdr.ScVal
  readonly fee?: bigint
  readonly payer?: typeof user
  readonly payee?: typeof user
}

const argumentsOf = ({ fee = 9n, payee = relayer, payer = user, token = addressValue(tokenContract) }: Given) => [
  token,
  amountValue(fee),
  amountValue(10n),
  u32(until),
  addressValue(counterContract),
  xdr.ScVal.scvSymbol("increment"),
  xdr.ScVal.scvVec([]),
  addressValue(payer),
  addressValue(payee)
]

const signedOf = (args: ReadonlyArray<xdr.ScVal>) => [0, 2, 3, 4, 5, 6].flatMap((index) => args[index] ?? [])

const approval = invocation(tokenContract, "approve", [
  addressValue(user),
  addressValue(forwarderContract),
  amountValue(10n),
  u32(until)
])

const userEntry = (
  args: ReadonlyArray<xdr.ScVal>,
  { payer = user, at = until, contract = forwarderContract, name = "forward" } = {}
) => addressEntry(payer, invocation(contract, name, signedOf(args), [approval]), at)

const relayerEntry = (args: ReadonlyArray<xdr.ScVal>, below: ReadonlyArray<xdr.SorobanAuthorizedInvocation> = []) =>
  sourceEntry(invocation(forwarderContract, "forward", args, below))

/** What the relayer would authorize if another contract or function were called. */
const otherEntry = ({ contract = forwarderContract, name = "forward" }) => sourceEntry(invocation(contract, name, args))

const args = argumentsOf({})

const forwarding = (
  auth: ReadonlyArray<xdr.SorobanAuthorizationEntry>,
  { contract = forwarderContract, given = args, name = "forward" } = {}
) => call(name, given, { contract, auth })

const usual = forwarding([userEntry(args), relayerEntry(args)])

/** Of the relayer's account, with the forwarder in the terms. */
const guarded = (...operations: ReadonlyArray<xdr.Operation>) =>
  verdict("forward", own(operations), { strategy: "user", forwarder: forwarderContract })

const others: ReadonlyArray<readonly [attack: string, operation: xdr.Operation]> = [
  [
    "calls another contract, which all entries are for",
    forwarding([userEntry(args, { contract: counterContract }), otherEntry({ contract: counterContract })], {
      contract: counterContract
    })
  ],
  [
    "calls another function, which all entries are for",
    forwarding([userEntry(args, { name: "sweep" }), otherEntry({ name: "sweep" })], { name: "sweep" })
  ],
  [
    "has an entry of somebody else in place of the relayer's",
    forwarding([userEntry(args), addressEntry(attacker, invocation(forwarderContract, "forward", args))])
  ],
  ["calls another contract", forwarding([userEntry(args), relayerEntry(args)], { contract: counterContract })],
  ["calls another function", forwarding([userEntry(args), relayerEntry(args)], { name: "sweep" })],
  ["has fewer arguments", forwarding([userEntry(args), relayerEntry(args)], { given: args.slice(0, 8) })],
  ["has no entry of the relayer", forwarding([userEntry(args)])],
  ["has a third entry", forwarding([userEntry(args), relayerEntry(args), relayerEntry(args)])],
  ["lets the call act for the relayer", forwarding([userEntry(args), relayerEntry(args, [approval])])],
  ["makes the user's entry one of the relayer", forwarding([relayerEntry(args), relayerEntry(args)])],
  ["has the entry of somebody else", forwarding([userEntry(args, { payer: attacker }), relayerEntry(args)])],
  [
    "has an entry for another contract",
    forwarding([userEntry(args, { contract: counterContract }), relayerEntry(args)])
  ],
  ["has an entry that expires at another ledger", forwarding([userEntry(args, { at: 501 }), relayerEntry(args)])],
  [
    "has an entry of the relayer for another fee",
    forwarding([userEntry(args), relayerEntry(argumentsOf({ fee: 8n }))])
  ],
  [
    "pays somebody else",
    forwarding([userEntry(args), relayerEntry(argumentsOf({ payee: attacker }))], {
      given: argumentsOf({ payee: attacker })
    })
  ],
  [
    "pays in something that is no address",
    forwarding([userEntry(argumentsOf({ token: u32(1) })), relayerEntry(argumentsOf({ token: u32(1) }))], {
      given: argumentsOf({ token: u32(1) })
    })
  ],
  ["is an upload", new xdr.Operation({ sourceAccount: null, body: upload() })]
]

function upload(): xdr.OperationBody {
  const hostFunction = xdr.HostFunction.hostFunctionTypeUploadContractWasm(Buffer.from([0]))
  return xdr.OperationBody.invokeHostFunction(new xdr.InvokeHostFunctionOp({ hostFunction, auth: [] }))
}

describe("an envelope that forwards the call of a user", () => {
  it("row 37: is signed if it does exactly that", () => {
    assert.strictEqual(guarded(usual), "accepted")
    const found = Result.getOrThrow(
      forwardingIn(envelopeOf(own([usual])), { forwarder: forwarderContract, relayer: relayer.publicKey() })
    )
    assert.deepInclude(found, {
      token: tokenContract,
      fee: 9n,
      maxFee: 10n,
      untilLedger: until,
      user: user.publicKey()
    })
    assert.deepInclude(found.target, { contract: counterContract, name: "increment" })
  })

  it.each(others)("row 37: is refused if it %s", (_, operation) => {
    assert.strictEqual(guarded(operation), "not_built_here")
  })

  it("row 37: is refused on a network without a forwarder", () => {
    assert.strictEqual(verdict("forward", own([usual]), { strategy: "user" }), "not_built_here")
  })

  it("row 37: obeys the rules of the relayer's own envelopes", () => {
    assert.strictEqual(guarded(usual, payment(attacker, 1n)), "soroban_not_alone")
    const payer = forwarding([userEntry(args, { payer: channel }), relayerEntry(args)])
    assert.strictEqual(guarded(payer), "auth_of_own_account")
    const terms = { forwarder: forwarderContract }
    assert.strictEqual(verdict("forward", theirs([usual]), terms), "xdr_signed")
    assert.strictEqual(verdict("forward", built(channel, [usual]), terms), "source_account_mismatch")
    assert.strictEqual(verdict("forward", own([usual], { signers: [relayer] }), terms), "xdr_signed")
    const elsewhere = call("forward", args, { contract: forwarderContract, source: attacker })
    assert.strictEqual(guarded(elsewhere), "operation_source")
  })

  it("row 37: takes the user's entry as it was built, with the signature added, and nothing else", () => {
    const entry = userEntry(args)
    const built = { entry: entryOf(entry).unsigned }
    if (entry.credentials.type !== "sorobanCredentialsAddress") throw new Error("unexpected")
    const { address, nonce, signatureExpirationLedger } = entry.credentials.address
    const signature = xdr.ScVal.scvBool(true)
    const signed = new xdr.SorobanAuthorizationEntry({
      credentials: xdr.SorobanCredentials.sorobanCredentialsAddress(
        new xdr.SorobanAddressCredentials({ address, nonce, signatureExpirationLedger, signature })
      ),
      rootInvocation: entry.rootInvocation
    })
    assert.isUndefined(entryProblem(built, entryOf(signed)))
    assert.strictEqual(entryProblem(built, entryOf(entry))?.code, "xdr_unsigned")
    const more = argumentsOf({ fee: 10n })
    for (const other of [
      userEntry(args, { at: 501 }),
      userEntry(args, { payer: attacker }),
      addressEntry(user, invocation(forwarderContract, "forward", signedOf(args)), until),
      relayerEntry(args),
      relayerEntry(more)
    ]) {
      assert.strictEqual(entryProblem(built, entryOf(other))?.code, "not_built_here")
    }
  })
})
