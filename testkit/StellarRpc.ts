// A JSON-RPC server with the methods of a Stellar node that the inspection of an account needs.
import { Keypair, xdr } from "@stellar/stellar-sdk/base"
import { Effect } from "effect"
import * as RpcServer from "./RpcServer.ts"

export const address = "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"

export interface Account {
  passphrase: string
  /** The address of the ledger entry. `undefined`: the account does not exist. */
  address: string | undefined
  balance: bigint
  sequence: bigint
  /** `closeTime`: unix seconds. */
  ledger: { readonly newest: number; readonly oldest: number; readonly closeTime: () => number }
}

const secondsNow = () => Math.floor((performance.timeOrigin + performance.now()) / 1000)

/** A ledger entry as in the result of `getLedgerEntries`: XDR in base64. */
export const entry = (address: string, balance: bigint, sequence: bigint) =>
  xdr.LedgerEntryData.account(
    new xdr.AccountEntry({
      accountId: Keypair.fromPublicKey(address).xdrPublicKey(),
      balance,
      seqNum: sequence,
      numSubEntries: 0,
      inflationDest: null,
      flags: 0,
      homeDomain: "",
      thresholds: new Uint8Array([1, 0, 0, 0]),
      signers: [],
      ext: xdr.AccountEntryExt.v0()
    })
  ).toXDR("base64")

/** A test may change `account` at any time. */
export const make = (given: Partial<Account> = {}) => {
  const account: Account = {
    passphrase: "Test SDF Network ; September 2015",
    address,
    balance: 10n ** 9n,
    sequence: 12_345_678_901_234_567n,
    // Seven days, as by default.
    ledger: { newest: 1_000_000, oldest: 1_000_000 - 120_959, closeTime: secondsNow },
    ...given
  }
  return Effect.map(
    RpcServer.make({
      getTransaction: () => ({
        status: "NOT_FOUND",
        latestLedger: account.ledger.newest,
        latestLedgerCloseTime: String(account.ledger.closeTime()),
        oldestLedger: account.ledger.oldest
      }),
      getNetwork: () => ({ passphrase: account.passphrase, protocolVersion: 23 }),
      getLedgerEntries: () => ({
        entries:
          account.address === undefined
            ? []
            : [
                {
                  key: "AAAA",
                  xdr: entry(account.address, account.balance, account.sequence),
                  lastModifiedLedgerSeq: 1
                }
              ],
        latestLedger: 2
      })
    }),
    (server) => ({ ...server, account })
  )
}
