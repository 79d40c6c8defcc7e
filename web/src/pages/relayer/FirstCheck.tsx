// A new relayer: its creation asks no provider, so that this page does, until the relayer is healthy.
import { useEffect } from "preact/hooks"
import { act, refresh } from "../../data/Registry.ts"
import { checkRelayer, relayerById, relayerExplanation, relayerStatus } from "../../data/Relayers.ts"
import type { RelayerExplanation } from "../../data/Relayers.ts"
import { words } from "../../words.ts"
import { Created, createdParameter } from "../../parts/Created.tsx"
import { useSearch } from "../../parts/useAtom.ts"

const text = words.create.nextOfRelayer

/** Milliseconds between two checks. */
const interval = 15_000

const nextOf = (state: RelayerExplanation["state"] | undefined) => {
  if (state === "healthy") return text.healthy
  return state === undefined || state === "unknown" ? text.asking : text.other
}

interface Props {
  readonly id: string
  readonly state: RelayerExplanation["state"] | undefined
}

export const FirstCheck = ({ id, state }: Props) => {
  const { parameters } = useSearch()
  const isDue = parameters.has(createdParameter) && state !== "healthy"
  useEffect(() => {
    if (!isDue) return
    const check = async () => {
      await act(checkRelayer(id))
      refresh(relayerById(id), relayerExplanation(id), relayerStatus(id))
    }
    void check()
    const timer = setInterval(() => void check(), interval)
    return () => clearInterval(timer)
  }, [id, isDue])
  return <Created next={nextOf(state)} />
}
