// A chain with forks and finality, and an adversary who keeps all bytes that were ever sent and lands them when it likes.
import type { Random } from "./Random.ts"

export interface Block {
  readonly height: number
  readonly slot: number
  readonly hash: string
  /** The signatures in it, and whether they succeeded. */
  readonly landed: Map<string, boolean>
}

/** A branch as a node sees it: its blocks from the first one, and the index of the finalized one. */
export interface Branch {
  readonly blocks: ReadonlyArray<Block>
  readonly finalized: number
}

/** Blocks for which a blockhash lives, as nodes report it: it stands for 150. The runtime accepts one block more. */
export const life = 5

/** Blocks after the end of a blockhash's life until a node without history forgets its signatures. */
const remembered = 3

export const isForgotten = (block: Block, top: Block): boolean => top.height - block.height > life + remembered

interface Sent {
  readonly blockhash: string
  readonly isSuccess: boolean
}

const maxForks = 3

export const makeChain = (random: Random) => {
  const first: Block = { height: 0, slot: 0, hash: "h0", landed: new Map() }
  const byHash = new Map([[first.hash, first]])
  const sent = new Map<string, Sent>()
  let blocks: Array<Block> = [first]
  let forks: Array<{ readonly blocks: Array<Block>; readonly finalized: number }> = []
  let finalized = 0
  let slot = 0

  const top = (): Block => blocks[blocks.length - 1] ?? first
  const isOnChain = (block: Block): boolean => blocks[block.height] === block

  const blockOn = (parent: Block): Block => {
    const block = { height: parent.height + 1, slot, hash: `h${byHash.size}`, landed: new Map<string, boolean>() }
    byHash.set(block.hash, block)
    return block
  }

  const hasLanded = (signature: string): boolean =>
    blocks.slice(Math.max(0, blocks.length - life - 4)).some(({ landed }) => landed.has(signature))

  const grow = (land: number): void => {
    slot += 1 + (random.chance(0.2) ? 1 : 0)
    const block = blockOn(top())
    for (const [signature, { blockhash, isSuccess }] of sent) {
      const start = byHash.get(blockhash)
      if (start === undefined || !isOnChain(start) || block.height - start.height > life + 1) continue
      if (!hasLanded(signature) && random.chance(land)) block.landed.set(signature, isSuccess)
    }
    blocks.push(block)
    // A minority goes on building on dead forks, without our transactions.
    for (const fork of forks) fork.blocks.push(blockOn(fork.blocks[fork.blocks.length - 1] ?? first))
    while (finalized < blocks.length - 1 - (1 + random.int(4))) finalized++
  }

  const reorganise = (): void => {
    const depth = 1 + random.int(Math.max(1, blocks.length - 1 - finalized))
    if (blocks.length - depth <= finalized) return
    forks = [...forks, { blocks: [...blocks], finalized }].slice(-maxForks)
    blocks = blocks.slice(0, blocks.length - depth)
  }

  return {
    grow,
    reorganise,
    top,
    isOnChain,
    branch: (): Branch => ({ blocks, finalized }),
    deadFork: (): Branch | undefined => forks[forks.length - 1],
    blockOf: (blockhash: string): Block | undefined => byHash.get(blockhash),
    send: (signature: string, bytes: Sent): void => {
      sent.set(signature, bytes)
    },
    /** Where each signature is, on the chain as it is now. */
    landed: (): ReadonlyMap<
      string,
      { readonly isFinal: boolean; readonly isSuccess: boolean; readonly slot: number }
    > => {
      const found = new Map<string, { isFinal: boolean; isSuccess: boolean; slot: number }>()
      for (const { height, landed, slot } of blocks) {
        for (const [signature, isSuccess] of landed) {
          found.set(signature, { isFinal: height <= finalized, isSuccess, slot })
        }
      }
      return found
    }
  }
}

export type Chain = ReturnType<typeof makeChain>
