// After a creation: that it worked, and what comes next.
import type { ComponentChildren } from "preact"
import { words } from "../words.ts"
import { Icon } from "./Icon.tsx"
import { useSearch } from "./useAtom.ts"

/** The parameter of the address. It is no filter of a list. */
export const createdParameter = "created"

interface Props {
  /** What comes next, as a sentence. */
  readonly next: string
  /** Links and buttons. */
  readonly children?: ComponentChildren
}

/** Shown only on the page to which the form of creation leads. */
export const Created = ({ next, children }: Props) => {
  const { parameters, href } = useSearch()
  if (!parameters.has(createdParameter)) return null
  return (
    <div class="say ok" role="status">
      <Icon name="ok" size={17} />
      <div>
        <b>{words.create.created}</b>
        <p>{next}</p>
      </div>
      <div class="do">
        {children}
        <a class="btn s" href={href({ [createdParameter]: undefined })}>
          {words.confirm.close}
        </a>
      </div>
    </div>
  )
}
