// A provider: a node, or two of them behind a balancer, that may lie, lose answers, ingest ledgers between two reads, and have an index of
// transactions that is behind its ledgers.
import type {
  AccountAt,
  Applied,
  LedgerRange,
  LedgerScan,
  NodeAnswer
} from "../../../../../src/networks/stellar/rules/StellarSeen.ts"
import type { Random } from "../../../solana/rules/explorer/Random.ts"
import { retention } from "./Chain.ts"
import type { Chain, ChainEnvelope } from "./Chain.ts"

const often = { silent: 0.05, lies: 0.5, ingests: 0.1, lost: 0.15 }

export interface ProviderKind {
  readonly node: number
  readonly isLiar: boolean
  readonly isBalanced: boolean
  readonly isIndexBehind: boolean
}

const answerOf = (status: string): NodeAnswer =>
  status === "PENDING" || status === "DUPLICATE" || status === "TRY_AGAIN_LATER"
    ? { status }
    : { status: "ERROR", result: status, fee: 200n }

export const makeProvider = (chain: Chain, { chance, int, pick }: Random, kind: ProviderKind) => {
  const nodeOf = () => chain.nodes[kind.isBalanced && chance(0.5) ? 1 - kind.node : kind.node] ?? chain.nodes[0]!
  const lies = () => chain.isFaulty() && kind.isLiar && chance(often.lies)
  const fails = () => chain.isFaulty() && chance(often.silent)
  const shows = (ledger: number, newest: number) =>
    ledger <= newest && (!kind.isIndexBehind || chain.isIndexed(ledger, newest))
  const oldest = () => Math.max(0, chain.height() - retention)

  const made = (isSuccess: boolean, ledger: number, hash: string): Applied => ({
    hash,
    ledger,
    isSuccess,
    result: isSuccess ? "ok" : "failed",
    code: isSuccess ? "txSuccess" : "txFailed",
    operations: [],
    fee: 100n
  })

  return {
    oldest,
    /** Undefined: an error. */
    account: (address: string): AccountAt | undefined => {
      if (fails()) return undefined
      const { view } = nodeOf()
      const sequence = chain.sequenceAt(address, view)
      const closeTime = chain.closeTimeOf(view)
      if (!lies()) return { ledger: { number: view, closeTime }, sequence }
      const ledger = { number: view + int(6), closeTime: closeTime + int(60) }
      return { ledger, sequence: sequence + pick([-1n, 0n, 1n, 7n]) }
    },
    find: (hash: string): Applied | "nothing" | undefined => {
      if (fails()) return undefined
      const node = nodeOf()
      const hit = chain.foundBy(hash)
      const isKnown = hit !== undefined && shows(hit.ledger, node.view) && hit.ledger >= oldest()
      if (chain.isFaulty() && chance(often.ingests)) node.view = Math.min(chain.height(), node.view + 1 + int(3))
      if (lies()) return pick(["nothing" as const, made(true, node.view, hash), made(false, node.view, hash)])
      return isKnown ? made(hit.entry.isSuccess, hit.ledger, hit.entry.hash) : "nothing"
    },
    /** Undefined: it does not keep the first ledger, or does not have it yet. */
    scan: (account: string, wanted: bigint, { from, to }: LedgerRange): LedgerScan | undefined => {
      const { view } = nodeOf()
      if (lies()) return chance(0.5) ? undefined : pick([{}, { use: { hashes: ["lie"] } }])
      if (from > view || from < oldest()) return undefined
      for (let ledger = from; ledger <= Math.min(to, view); ledger++) {
        if (!shows(ledger, view)) continue
        const used = chain
          .entriesOf(ledger)
          .find((one) => one.account === account && one.before < wanted && one.sequence >= wanted)
        if (used === undefined) continue
        return { use: { hashes: used.innerHash === undefined ? [used.hash] : [used.hash, used.innerHash] } }
      }
      return {}
    },
    send: (envelope: ChainEnvelope): NodeAnswer => {
      if (lies()) return answerOf(pick(["PENDING", "txBadSeq", "TRY_AGAIN_LATER", "DUPLICATE"]))
      const status = chain.submit(nodeOf(), envelope)
      return chain.isFaulty() && chance(often.lost) ? { status: "UNKNOWN" } : answerOf(status)
    }
  }
}
export type Provider = ReturnType<typeof makeProvider>
