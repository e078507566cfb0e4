// The arena's sounds, made of noise and tones; there are no files. A browser stays silent until someone presses a key or a button.

/** noise: seconds, its filter's frequency at the beginning and end (Hz), loudness. tone: the same for a tone's frequency. */
const SOUNDS = {
  shot: { noise: [0.09, 5200, 900, 0.5], tone: [0.07, 320, 90, 0.35] },
  launch: { noise: [0.35, 900, 2600, 0.45], tone: [0.16, 150, 50, 0.6] },
  blast: { noise: [0.7, 1400, 120, 0.9], tone: [0.4, 90, 32, 0.9] },
  holster: { noise: [0.05, 1500, 800, 0.12] },
  draw: { noise: [0.06, 2200, 3600, 0.16], tone: [0.03, 900, 1300, 0.05] },
  reload: { noise: [0.05, 2600, 1200, 0.18] },
  loaded: { noise: [0.07, 1800, 4200, 0.22], tone: [0.04, 700, 1100, 0.08] },
  swing: { noise: [0.12, 700, 3800, 0.3] },
  shove: { noise: [0.3, 2400, 200, 0.6], tone: [0.2, 120, 45, 0.5] },
  press: { tone: [0.12, 520, 780, 0.3] },
  hit: { tone: [0.06, 1250, 1050, 0.18] },
}

export class Sound {
  constructor() {
    this.on = true
    this.context = null
    this.playing = [] // {key, gain} of the newest events, which can still be taken back
  }

  /** A press allows sound. */
  unlock() {
    if (!this.on || typeof AudioContext === "undefined") return
    if (!this.context) {
      const c = this.context = new AudioContext()
      this.all = c.createGain()
      this.all.gain.value = 0.35
      this.all.connect(c.destination)
      this.noise = c.createBuffer(1, c.sampleRate, c.sampleRate)
      const samples = this.noise.getChannelData(0)
      for (let i = 0; i < samples.length; i++) samples[i] = 2 * Math.random() - 1
    }
    if (this.context.state === "suspended") this.context.resume()
  }

  /** Switches all sound on or off. */
  toggle() {
    this.on = !this.on
    if (this.on) this.unlock()
    else this.context?.suspend()
  }

  /** Plays a sound that comes from so many metres away; right is from -1 to 1. key is that of its event, 0: of none. */
  play(name, metres = 0, right = 0, key = 0) {
    const c = this.context, sound = SOUNDS[name], near = Math.max(0, 1 - metres / 45)
    if (!this.on || !c || c.state !== "running" || near === 0) return
    const gain = c.createGain(), pan = c.createStereoPanner(), at = c.currentTime
    gain.gain.value = near * near
    pan.pan.value = 0.6 * Math.max(-1, Math.min(1, right))
    gain.connect(pan).connect(this.all)
    const fade = (source, [seconds, , , loud], into) => {
      const g = c.createGain()
      g.gain.setValueAtTime(loud, at)
      g.gain.exponentialRampToValueAtTime(0.001, at + seconds)
      into.connect(g).connect(gain)
      source.start(at)
      source.stop(at + seconds)
    }
    if (sound.noise) {
      const source = c.createBufferSource(), filter = c.createBiquadFilter()
      source.buffer = this.noise
      source.loop = true
      filter.type = "lowpass"
      filter.frequency.setValueAtTime(sound.noise[1], at)
      filter.frequency.exponentialRampToValueAtTime(sound.noise[2], at + sound.noise[0])
      source.connect(filter)
      fade(source, sound.noise, filter)
    }
    if (sound.tone) {
      const source = c.createOscillator()
      source.type = "triangle"
      source.frequency.setValueAtTime(sound.tone[1], at)
      source.frequency.exponentialRampToValueAtTime(sound.tone[2], at + sound.tone[0])
      fade(source, sound.tone, source)
    }
    if (!key) return
    this.playing.push({ key, gain })
    if (this.playing.length > 32) this.playing.shift()
  }

  /** Ends what an event that has not happened sounds like. */
  takeBack(key) {
    for (const p of this.playing) if (p.key === key) p.gain.disconnect()
    this.playing = this.playing.filter(p => p.key !== key)
  }
}
