// A state: an icon of its own shape, a word, and a colour.
import { Icon } from "./Icon.tsx"
import type { IconName } from "./Icon.tsx"

export type Tone = "ok" | "warn" | "bad" | "info" | "off"

export interface Mark {
  readonly tone: Tone
  readonly icon: IconName
  readonly word: string
}

export const Tag = ({ tone, icon, word }: Mark) => (
  <span class={`tag ${tone}`}>
    <Icon name={icon} size={13} />
    {word}
  </span>
)

const icons: Record<Tone, IconName> = { ok: "ok", warn: "warn", bad: "bad", info: "wait", off: "dot" }

export const mark = (tone: Tone, word: string, icon: IconName = icons[tone]): Mark => ({ tone, icon, word })
