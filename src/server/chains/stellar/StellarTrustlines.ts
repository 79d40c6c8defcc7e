// Trust lines at one ledger: whether a user can pay in a credit, and whether the relayer can receive it.
import { Effect } from "effect"
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import type { Credit, PaidAccounts, Trustline } from "../../../domain/transaction/stellar/SponsoredPayment.ts"
import * as RpcFailure from "../RpcFailure.ts"
import type { RpcNode } from "../RpcNode.ts"
import { keyOf as keyOfAccount } from "./StellarAccounts.ts"
import * as Calls from "./StellarCalls.ts"
import { textOf } from "./StellarLibrary.ts"
import type { Library } from "./StellarLibrary.ts"
import { keyAddress } from "./StellarOperations.ts"

/** `AUTHORIZED_FLAG` and `TRUSTLINE_CLAWBACK_ENABLED_FLAG` of a trust line, `AUTH_CLAWBACK_ENABLED_FLAG` of an account. */
const flags = { authorized: 1, lineClawback: 4, accountClawback: 8 } as const

const has = (value: number, flag: number): boolean => (value & flag) !== 0

const keyOf = (lib: Library, address: string, { code, issuer }: Credit): string => {
  const accountId = lib.Keypair.fromPublicKey(address).xdrPublicKey()
  const asset = new lib.Asset(code, issuer).toTrustLineXDRObject()
  return textOf(lib.xdr.LedgerKey.trustline(new lib.xdr.LedgerKeyTrustLine({ accountId, asset })))
}

const lineOf = ({ balance, ext, flags: set, limit }: Xdr.TrustLineEntry): Trustline => {
  const { buying = 0n, selling = 0n } = ext.type === "v1" ? ext.v1.liabilities : {}
  return {
    balance,
    limit,
    buyingLiabilities: buying,
    sellingLiabilities: selling,
    isAuthorized: has(set, flags.authorized),
    hasClawback: has(set, flags.lineClawback)
  }
}

/** Issuers and holders of trust lines by address. Throws if an entry is not valid XDR. */
const entriesIn = (lib: Library, { entries }: Calls.Entries) => {
  const accounts = new Map<string, Xdr.AccountEntry>()
  const lines = new Map<string, Trustline>()
  for (const { xdr } of entries ?? []) {
    const data = lib.xdr.LedgerEntryData.fromXdr(xdr, "base64")
    if (data.type === "account") accounts.set(keyAddress(data.account.accountId), data.account)
    if (data.type === "trustline") lines.set(keyAddress(data.trustLine.accountId), lineOf(data.trustLine))
  }
  return { accounts, lines }
}

interface Holders {
  readonly relayer: string
  /** Absent: the user is not known yet. */
  readonly payer?: string
}

/** The accounts of a payment in a credit, from one provider at one ledger. */
export const paidAccounts = Effect.fnUntraced(function* (
  lib: Library,
  node: RpcNode,
  credit: Credit,
  { payer, relayer }: Holders
) {
  const { issuer } = credit
  const holders = [...new Set(payer === undefined ? [relayer] : [relayer, payer])].filter((one) => one !== issuer)
  const keys = [keyOfAccount(lib, issuer), ...holders.map((address) => keyOf(lib, address, credit))]
  const answer = yield* node.call(Calls.ledgerEntries(keys))
  return yield* Effect.try({
    try: (): PaidAccounts => {
      const { accounts, lines } = entriesIn(lib, answer)
      const lineAt = (address = ""): PaidAccounts["payer"] => (address === issuer ? "issuer" : lines.get(address))
      const account = accounts.get(issuer)
      return {
        issuerClawsBack: account !== undefined && has(account.flags, flags.accountClawback),
        payer: lineAt(payer),
        relayer: lineAt(relayer)
      }
    },
    catch: () => RpcFailure.failure("invalid_answer").of("getLedgerEntries")
  })
})
