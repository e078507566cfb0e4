// The page's clock and its marks. Worker, page and engine all count milliseconds from the page's epoch.

/** Unix time in whole milliseconds at which the page's clock stood at about zero. */
export const epochMs = Math.floor(performance.timeOrigin + performance.now())

/** Converts an instant of performance.now(), such as an event's timeStamp, to the page's clock. */
export const toClock = (/** @type {number} */ ms) => performance.timeOrigin - epochMs + ms

/** The page's clock now, in milliseconds. */
export const clock = () => toClock(performance.now())

/** Marks a step of the start for the browser's own tools and for `meanwhile bench page`. */
export const mark = (/** @type {string} */ step) => { performance.mark(`meanwhile ${step}`) }
