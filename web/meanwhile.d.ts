// Types of meanwhile.js, for a page's author. The head of meanwhile.js explains them.

export interface Vec2 { x: number, y: number }
export interface Vec3 extends Vec2 { z: number }

/** Members that every entity has beside its properties. */
export interface EntityBase {
  id: number
  /** Whether it is the own avatar. */
  mine: boolean
  /** Whether it is drawn at command time. */
  predicted: boolean
  /** Whether it teleported since the last frame. */
  cut: boolean
  /** Whether it is drawn without a newer record, so that it stands still. */
  stalled: boolean
  /** By how many milliseconds it is drawn later than the others. */
  lateMs: number
  /** Mean milliseconds between the newest records of its movement, or since the newest one; 0: it rests or is predicted. */
  intervalMs: number
}
/** Members that every event has beside its fields. */
export interface EventBase {
  /** Differs from the key of every other event of this page. */
  key: number
  /** The entity that caused it; 0: nobody. */
  entity: number
  /** Whether the own avatar caused it. */
  mine: boolean
}

/** How the server judged a shot of the own avatar that hit, on the screen or on the server. */
export interface Receipt extends EventBase {
  /** The entity that was hit on the screen or, if none was, on the server. */
  target: number
  /** Whether the server hit it. */
  hit: boolean
  /** Where it was on the screen, in metres; undefined if nothing was hit there. */
  seen?: Vec3
  /** Where the server judged it; undefined if the player did not see it there or sees it no more. */
  used?: Vec3
  /** How far apart the two are, in millimetres; undefined if one of them is. */
  offMm?: number
  /** Why the server judged another moment than was on the screen; "exact" if it did not. */
  reason: string
}

/**
 * What a game is made of. A page without types of its own uses this. One with them gives join() a type argument:
 * join<{kinds: {pilot: {pos: Vec2}}, avatar: {pos: Vec2}, command: {move: Vec2}, events: {zap: {from: Vec2}}}>(...)
 */
export interface GameTypes {
  kinds: Record<string, any>
  avatar: any
  command: Record<string, any>
  events: Record<string, any>
  /** Of messages: their fields. */
  messages?: Record<string, any>
  /** Of requests: their fields, and those of the answer. */
  requests?: Record<string, { fields: any, answer: any }>
}

export type Entity<Properties = any> = Properties & EntityBase
export type World<T extends GameTypes = GameTypes> = { [kind in keyof T["kinds"]]: Entity<T["kinds"][kind]>[] }

export interface View {
  /** Metres across. */
  width: number
  /** Metres from top to bottom: all of the rectangle is then shown. */
  height?: number
  /** The rectangle's corner in metres. Without it the camera follows the own avatar. */
  x?: number
  y?: number
  /** A colour as in CSS. */
  background?: string
  /** false hides the lines, one every 5 m. */
  grid?: boolean
}

export interface JoinOptions {
  /** join() fails without one; null is allowed here because that is what querySelector() may return. */
  canvas: HTMLCanvasElement | null
  /** Default: {width: 40}. null: no camera. */
  view?: Partial<View> | null
  name?: string
  room?: string
  /** Of a private room; its first player chooses it. */
  code?: string
  /** A connect token in base64, or what returns the next one: each opens one connection. */
  token?: string | (() => string | Promise<string>)
  /** What the server's Authenticate reads, such as an ID token, or what returns it. */
  credential?: string | (() => string | Promise<string>)
  autopilot?: boolean
  /** Sees the room some time later, without an avatar. */
  watch?: boolean
  transport?: "webtransport" | "websocket"
  settings?: Record<string, number | string>
  config?: string
  /** false: the key F2 does not open the network panel. */
  panel?: boolean
}

/** What the page says of its panel. */
export interface PanelOptions {
  /** Its heading; default: Network. */
  title?: string
  /** Where it stands, always open on wide screens. Default: over the right side of the page. */
  into?: HTMLElement
  /** Where the timelines stand, also while the panel is closed. Default: at the lower edge of the page, while it is open. */
  ribbon?: HTMLElement
  /** false: no button; F2 opens it. */
  button?: boolean
  /** Whether it opens at once. */
  open?: boolean
  /** Switches of the page's own, beside those of the engine. */
  switches?: { name: string, title: string, help: string, on: boolean, disabled?: boolean, change: (on: boolean) => void }[]
  /** Called after a setting has changed while the panel is open, with those that were ever set. */
  changed?: (settings: Readonly<Record<string, number | string>>) => void
  /** Called after another network was chosen: a preset, or a slider when its drag has ended. */
  moved?: () => void
}
export interface Panel {
  open(): Promise<void>
  close(): void
  toggle(): void
  readonly opened: boolean
  /** Adds an element of the page: beside the heading, below it, below the switches, or below all. The page's own styles hold there. */
  add(element: HTMLElement, place?: "header" | "top" | "techniques" | "bottom"): void
}

export interface Camera {
  /** From CSS pixels of the canvas to metres. */
  toWorld(x: number, y: number): Vec2
  /** From metres to CSS pixels of the canvas. */
  toScreen?(pos: Vec2): Vec2
  /** The place in the middle of the canvas, in metres. */
  x?: number
  y?: number
  /** CSS pixels per metre. */
  scale?: number
  /** What the next frame shows, of the camera that the page got. */
  view?: View
}

export interface Keys {
  /** Of length at most 1. */
  readonly wasd: Vec2
  readonly space: boolean
  readonly shift: boolean
  /** Whether a key is down, or was pressed since the last command: KeyboardEvent.code, Mouse0, Mouse1, Mouse2. */
  has(code: string): boolean
  press(code: string): void
  release(code: string): void
}

export interface Mouse {
  readonly x: number
  readonly y: number
  readonly pos: Vec2
  readonly pressed: boolean
  readonly right: boolean
  /** Radians from a place to what the pointer or the finger aims at. */
  angleFrom(pos: Vec2): number
  /** The direction of the finger that aims; null while the pointer itself aims. */
  readonly stick: Vec2 | null
}

/** One datagram. */
export interface Packet { up: boolean, sentMs: number, arrivedMs: number, bytes: number }

export interface Layout {
  game: string
  /** Ticks per second. */
  rate: number
  kinds: { name: string, properties: Field[] }[]
  events: { name: string, fields: Field[] }[]
  messages?: { name: string, fields: Field[], answer?: Field[] }[]
  command: Field[]
  stats: string[]
  profiles: { name: string, title: string, delayMs: number, jitterMs: number, lossPct: number }[]
}
export interface Field { name: string, type: string, names?: string[], length?: number }

export interface Game<T extends GameTypes = GameTypes> {
  command: () => Partial<T["command"]>
  draw: (world: World<T>) => void
  on: { [event in keyof T["events"]]?: (event: T["events"][event] & EventBase, ...more: any[]) => void } & { receipt?: (receipt: Receipt) => void } & {
    /** A message of the rules. from: the avatar of the player who caused it, 0: nobody; tick: in which the server sent it. */
    [message in keyof NonNullable<T["messages"]>]?: (message: NonNullable<T["messages"]>[message], from: number, tick: number) => void
  }
  /** Take back what a handler of on showed for an event with the same key: it was predicted, and has not happened. */
  undo: { [event in keyof T["events"]]?: (event: T["events"][event] & EventBase) => void }

  readonly canvas: HTMLCanvasElement
  readonly ctx: CanvasRenderingContext2D
  readonly width: number
  readonly height: number
  readonly world: World<T>
  /** undefined while there is none: before the first spawn, and after the avatar has gone. */
  readonly me: Entity<T["avatar"]> | undefined
  /** How far the own avatar is drawn from where the rules have it, in metres: a correction that fades. */
  readonly offset: Readonly<Vec3>
  readonly now: number
  readonly keys: Keys
  readonly mouse: Mouse
  /** Whether the last pointer was a finger. */
  readonly touch: boolean
  camera: Camera
  /** docs/BRIDGE.md has the table. A measurement may be missing. */
  readonly stats: Readonly<Record<string, number>>
  readonly packets: readonly Packet[]
  /** Texts about the newest wrong predictions, at most 64 and the newest first: both states, the command, the likely cause. */
  desyncs(): string[]
  /** Saves this moment on the server, so that it can be replayed: where, and whether with this page's log. Fails with a sentence. */
  report(): Promise<{ name: string, log: boolean }>
  /** How many datagrams the page's transport dropped, by reason. */
  readonly dropped: Readonly<Record<string, number>>
  readonly transport: "" | "webtransport" | "websocket"
  readonly layout: Layout
  readonly options: Readonly<JoinOptions & { name: string, room: string }>
  /** The server's /meanwhile.json. */
  readonly config: Readonly<{ game: string, truth?: boolean, reports?: boolean, local?: boolean }>
  autopilot: boolean
  /** ID of the entity that a page which watches looks from; 0: it plays, or there is none yet. */
  follow: number
  /** The settings that join() got or set() changed. */
  readonly settings: Readonly<Record<string, number | string>>
  set(name: string, value: number | string | boolean): string
  /** Sends a message to the rules; returns "" or why nothing was sent. */
  send<M extends keyof NonNullable<T["messages"]>>(name: M, fields?: Partial<NonNullable<T["messages"]>[M]>): string
  /** Asks the rules. The promise fails with the sentence of a refusal. */
  request<R extends keyof NonNullable<T["requests"]>>(name: R, fields?: Partial<NonNullable<T["requests"]>[R]["fields"]>): Promise<NonNullable<T["requests"]>[R]["answer"]>
  leave(): void
}

/** Connects the page to a game. An error's message is a sentence for the person in front of the page, who sees it too. */
export function join<T extends GameTypes = GameTypes>(options: JoinOptions): Promise<Game<T>>

/** Offers the network panel: a small button, and the key F2, which works without this call, too. It is fetched when it is opened. */
export function panel(game: Game<any>, options?: PanelOptions): Panel
