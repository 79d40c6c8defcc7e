// Icons of 16 by 16. A state has a shape of its own, so that colour is never the only difference.
import type { JSX } from "preact"

const shapes = {
  ok: (
    <>
      <circle cx="8" cy="8" r="6.5" fill="none" stroke="currentColor" stroke-width="1.5" />
      <path
        d="m5.2 8.2 2 2 3.7-4.2"
        fill="none"
        stroke="currentColor"
        stroke-width="1.5"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </>
  ),
  bad: (
    <>
      <path
        d="M5.3 1.5h5.4l3.8 3.8v5.4l-3.8 3.8H5.3l-3.8-3.8V5.3z"
        fill="none"
        stroke="currentColor"
        stroke-width="1.5"
        stroke-linejoin="round"
      />
      <path d="M8 4.8v3.7M8 11v.1" stroke="currentColor" stroke-width="1.7" stroke-linecap="round" />
    </>
  ),
  warn: (
    <>
      <path d="M8 1.9 14.6 13.6H1.4z" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linejoin="round" />
      <path d="M8 6.2v3.2M8 11.4v.1" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" />
    </>
  ),
  wait: (
    <>
      <circle cx="8" cy="8" r="6.5" fill="none" stroke="currentColor" stroke-width="1.5" />
      <path
        d="M8 4.6V8l2.3 1.5"
        fill="none"
        stroke="currentColor"
        stroke-width="1.5"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </>
  ),
  pause: (
    <>
      <circle cx="8" cy="8" r="6.5" fill="none" stroke="currentColor" stroke-width="1.5" />
      <path d="M6.4 5.8v4.4M9.6 5.8v4.4" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" />
    </>
  ),
  up: (
    <>
      <circle cx="8" cy="8" r="6.5" fill="none" stroke="currentColor" stroke-width="1.5" />
      <path
        d="M8 11V5.3M5.6 7.4 8 5l2.4 2.4"
        fill="none"
        stroke="currentColor"
        stroke-width="1.5"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </>
  ),
  dot: (
    <>
      <circle cx="8" cy="8" r="6.5" fill="none" stroke="currentColor" stroke-width="1.5" stroke-dasharray="2.2 2.2" />
    </>
  ),
  home: (
    <>
      <path
        d="M2.5 13.5V8M6.2 13.5V3.5M9.8 13.5V9.5M13.5 13.5v-8"
        stroke="currentColor"
        stroke-width="1.7"
        stroke-linecap="round"
      />
    </>
  ),
  rel: (
    <>
      <path
        d="M2 5h9.5M8.8 2.2 11.7 5 8.8 7.8M14 11H4.5M7.2 8.2 4.3 11l2.9 2.8"
        fill="none"
        stroke="currentColor"
        stroke-width="1.5"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </>
  ),
  tx: (
    <>
      <path d="M3 3.5h10M3 8h10M3 12.5h6" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" />
    </>
  ),
  hook: (
    <>
      <path
        d="M2 3.5h12v9H2zM2.3 4l5.7 5 5.7-5"
        fill="none"
        stroke="currentColor"
        stroke-width="1.5"
        stroke-linejoin="round"
      />
    </>
  ),
  ev: (
    <>
      <path
        d="M1.5 8.5h3l2-5.5 3 10.5 2-5h3"
        fill="none"
        stroke="currentColor"
        stroke-width="1.5"
        stroke-linejoin="round"
        stroke-linecap="round"
      />
    </>
  ),
  net: (
    <>
      <circle cx="8" cy="8" r="6.3" fill="none" stroke="currentColor" stroke-width="1.4" />
      <path
        d="M1.9 8h12.2M8 1.8c4 4 4 8.4 0 12.400M8 1.800c-4 4-4 8.4 0 12.4"
        fill="none"
        stroke="currentColor"
        stroke-width="1.3"
      />
    </>
  ),
  key: (
    <>
      <circle cx="5" cy="10.6" r="3.2" fill="none" stroke="currentColor" stroke-width="1.5" />
      <path d="m7.4 8.3 6-6M11 4.700l2 2" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" />
    </>
  ),
  sign: (
    <>
      <path
        d="M2 13.500h12M3 10.5 10.5 3l2.5 2.500L5.5 13H3z"
        fill="none"
        stroke="currentColor"
        stroke-width="1.4"
        stroke-linejoin="round"
      />
    </>
  ),
  aud: (
    <>
      <path
        d="M8 1.5 13.5 3.500v4.200c0 3.3-2.3 5.7-5.5 6.8-3.2-1.1-5.5-3.5-5.5-6.800V3.500z"
        fill="none"
        stroke="currentColor"
        stroke-width="1.4"
        stroke-linejoin="round"
      />
    </>
  ),
  sys: (
    <>
      <rect x="2" y="2.5" width="12" height="4.5" rx="1" fill="none" stroke="currentColor" stroke-width="1.4" />
      <rect x="2" y="9" width="12" height="4.5" rx="1" fill="none" stroke="currentColor" stroke-width="1.4" />
      <path d="M4.5 4.800h.1M4.5 11.300h.1" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" />
    </>
  ),
  find: (
    <>
      <circle cx="7" cy="7" r="4.5" fill="none" stroke="currentColor" stroke-width="1.5" />
      <path d="m10.5 10.5 3.3 3.3" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" />
    </>
  ),
  menu: (
    <>
      <path d="M2 4h12M2 8h12M2 12h12" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" />
    </>
  ),
  sun: (
    <>
      <circle cx="8" cy="8" r="6.3" fill="none" stroke="currentColor" stroke-width="1.4" />
      <path d="M8 1.700a6.3 6.3 0 0 1 0 12.600z" fill="currentColor" />
    </>
  )
} satisfies Record<string, JSX.Element>

export type IconName = keyof typeof shapes

export const Icon = ({ name, size = 15 }: { readonly name: IconName; readonly size?: number }) => (
  <svg width={size} height={size} viewBox="0 0 16 16" aria-hidden="true">
    {shapes[name]}
  </svg>
)
