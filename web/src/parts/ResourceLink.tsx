// What an event or an audit record is about: a link to its page, or its id if it has none.
import { pageOf } from "../data/ResourcePages.ts"
import type { Subject } from "../data/ResourcePages.ts"

export const ResourceLink = (subject: Subject) => {
  const href = pageOf(subject)
  return href === undefined ? (
    <bdi class="wrap">{subject.id}</bdi>
  ) : (
    <a class="wrap l" href={href}>
      <bdi>{subject.id}</bdi>
    </a>
  )
}
