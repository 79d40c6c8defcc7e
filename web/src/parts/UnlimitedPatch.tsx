// A change that the service refuses to an API key with limits of what it may send: the form, or the values and one sentence.
import type { ComponentProps } from "preact"
import { writtenIn } from "../data/FormFields.ts"
import { isLimited, sessionState } from "../data/Session.ts"
import { words } from "../words.ts"
import { Facts } from "./Page.tsx"
import { Patch } from "./Patch.tsx"
import { useAtom } from "./useAtom.ts"

type Props = ComponentProps<typeof Patch>

/** A list has a value per line. */
const Lines = ({ text }: { readonly text: string }) => (
  <ul class="values">
    {text.split("\n").map((line) => (
      <li key={line}>
        <bdi class="wrap">{line}</bdi>
      </li>
    ))}
  </ul>
)

const Values = ({ form, native, present }: Pick<Props, "form" | "native" | "present">) => (
  <div class="pad">
    <p class="mut">{words.limits.change}</p>
    <Facts
      facts={writtenIn(form, present.entered, native).map(
        ([name, value]) => [<code>{name}</code>, <Lines text={value} />] as const
      )}
    />
  </div>
)

export const UnlimitedPatch = (props: Props) =>
  isLimited(useAtom(sessionState)) ? <Values {...props} /> : <Patch {...props} />
