// Relayers that can pay the top-ups of another one, and those that it pays for.
interface Candidate {
  readonly id: string
  readonly address: string
  readonly network_type: string
  readonly network: string
  readonly policies?: { readonly top_up?: { readonly from: string } }
}

interface Target {
  readonly network_type: string
  /** Undefined: not chosen yet. */
  readonly network: string | undefined
  /** Undefined: of a relayer that does not exist yet. */
  readonly id?: string
  readonly address?: string
}

/** Ids of relayers on the same chain with another account, which get no top-ups themselves. The account decides, not the relayer. */
export const payersOf = (target: Target, relayers: ReadonlyArray<Candidate>): ReadonlyArray<string> => {
  const near = relayers.filter(
    ({ network_type, network }) => network_type === target.network_type && network === target.network
  )
  const toppedUp = new Set(near.flatMap(({ address, policies }) => (policies?.top_up === undefined ? [] : [address])))
  return near
    .filter(({ id, address }) => id !== target.id && address !== target.address && !toppedUp.has(address))
    .map(({ id }) => id)
}

/** Ids of the relayers whose policy names this payer. */
export const targetsOf = (payer: string, relayers: ReadonlyArray<Candidate>): ReadonlyArray<string> =>
  relayers.filter(({ policies }) => policies?.top_up?.from === payer).map(({ id }) => id)
