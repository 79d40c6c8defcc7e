// Trust lines at one ledger: whether a user can pay in a credit, whether the relayer can receive it, and which contracts can make one.
import { Effect, Result } from "effect"
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import type { Credit, PaidAccounts, Trustline } from "../../../domain/transaction/stellar/SponsoredPayment.ts"
import type { Providers } from "../Providers.ts"
import { rpcFailure } from "../RpcFailure.ts"
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
    catch: () => rpcFailure("invalid_answer").of("getLedgerEntries")
  })
})

const instanceKeyOf = ({ Address, xdr }: Library, contract: string): string =>
  textOf(
    xdr.LedgerKey.contractData(
      new xdr.LedgerKeyContractData({
        contract: Address.fromString(contract).toScAddress(),
        key: xdr.ScVal.scvLedgerKeyContractInstance(),
        durability: xdr.ContractDataDurability.persistent
      })
    )
  )

/** The contract of an entry which says that it executes code of its own. That of an asset never does. */
const withCode = ({ Address, xdr }: Library, text: string): ReadonlyArray<string> => {
  const data = xdr.LedgerEntryData.fromXdr(text, "base64")
  if (data.type !== "contractData" || data.contractData.key.type !== "scvLedgerKeyContractInstance") return []
  const { contract, val } = data.contractData
  return val.type === "scvContractInstance" && val.instance.executable.type === "contractExecutableWasm"
    ? [Address.fromScAddress(contract).toString()]
    : []
}

/** Entries of one call at most: as many as stellar-rpc takes. */
const maxKeys = 200

/** Those of the contracts that may be contracts of assets: all of which no provider says that they execute other code. */
export const assetsAmong = Effect.fnUntraced(function* (
  lib: Library,
  { first }: Pick<Providers, "first">,
  contracts: ReadonlyArray<string>
): Effect.fn.Return<ReadonlySet<string>> {
  const asked = [...new Set(contracts)]
  if (asked.length === 0) return new Set()
  const keys = asked.slice(0, maxKeys).map((contract) => instanceKeyOf(lib, contract))
  const answer = yield* Effect.result(first((node) => node.call(Calls.ledgerEntries(keys))))
  const entries = Result.isSuccess(answer) ? (answer.success.entries ?? []) : []
  const others = new Set(
    Result.getOrElse(
      Result.try(() => entries.flatMap(({ xdr }) => withCode(lib, xdr))),
      () => []
    )
  )
  return new Set(asked.filter((contract) => !others.has(contract)))
})
