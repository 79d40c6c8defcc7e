// Every text of the console. Sentences of the service, such as reasons, are shown as they arrive.
export const words = {
  product: "effect-relayer",
  toContent: "To the content",
  mainNavigation: "Main",
  settings: "Settings",
  menu: "Menu",
  switchTheme: "Switch between the light and the dark theme",
  apiReference: "API reference",
  notFound: {
    title: "There is no such page",
    text: "The address leads to no page of the console."
  }
} as const
