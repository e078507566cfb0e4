// The panel's looks. It stands in a shadow tree, so the page's own rules do not reach it, nor these the page.

export const CSS = `
:host { --back: #10151d; --raised: #18202b; --line: #232d3b; --text: #d7dee8; --soft: #b4bfcd; --dim: #93a1b3;
  --mine: #56b4e9; --truth: #e8b339; --bad: #ff5d73; --side: 372px; --strip: 108px;
  color: var(--text); font: 13px/1.4 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; -webkit-font-smoothing: antialiased; }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
button, select, input { font: inherit; color: inherit; }
:focus-visible { outline: 2px solid var(--mine); outline-offset: 2px; }

.panel { position: fixed; z-index: 20; inset: 0 0 0 auto; width: var(--side); display: flex; flex-direction: column; overflow-y: auto;
  overscroll-behavior: contain; padding: 14px 18px 12px; background: var(--back); border-left: 1px solid var(--line);
  scrollbar-width: thin; scrollbar-color: var(--line) transparent; user-select: none; -webkit-user-select: none; }
:host([docked]) .panel { position: relative; inset: auto; width: 100%; height: 100%; }
header { display: flex; align-items: center; gap: 10px; min-height: 26px; }
h1 { margin: 0; font-size: 18px; line-height: 1.2; font-weight: 650; letter-spacing: -.01em; }
.link { margin-left: auto; display: inline-flex; align-items: center; gap: 6px; color: var(--dim); }
.link i { width: 8px; height: 8px; border-radius: 50%; background: #6fd08c; }
.link.bad i { border-radius: 1px; background: var(--bad); }
.close { width: 28px; height: 28px; margin-right: -6px; border: 0; border-radius: 6px; background: none; color: var(--dim); font-size: 20px; line-height: 1; cursor: pointer; }
.close:hover { background: var(--raised); color: var(--text); }
:host([docked]) .close { display: none; }

section { margin-top: 12px; padding-top: 10px; border-top: 1px solid var(--line); }
h2 { margin: 0 0 7px; font-size: 13px; font-weight: 600; display: flex; justify-content: space-between; align-items: baseline; }
h2 small { font-size: 12px; font-weight: 400; color: var(--dim); font-variant-numeric: tabular-nums; }

.presets { display: flex; flex-wrap: wrap; gap: 5px; margin-bottom: 8px; }
.presets button { flex: 1 1 auto; padding: 4px 8px; font-size: 12.5px; border: 1px solid var(--line); border-radius: 6px; background: var(--raised);
  color: var(--soft); cursor: pointer; white-space: nowrap; }
.presets button:hover { background: #212b39; color: var(--text); }
.presets button[aria-pressed=true] { background: var(--text); border-color: var(--text); color: #10151d; }
.presets button[aria-pressed=true]::before { content: "✓ "; }
.presets .cut { border-color: rgba(255, 93, 115, .45); color: #f0a3ae; }
.presets .cut[aria-pressed=true] { background: var(--bad); border-color: var(--bad); color: #10151d; }

.slides { display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: 12px; }
.slide { display: block; font-size: 12.5px; color: var(--soft); white-space: nowrap; }
.slide span { display: flex; justify-content: space-between; gap: 4px; }
.slide output { color: var(--text); font-variant-numeric: tabular-nums; }
input[type=range] { -webkit-appearance: none; appearance: none; display: block; width: 100%; height: 20px; margin: 0; background: none; cursor: pointer; --at: 0%; }
input[type=range]::-webkit-slider-runnable-track { height: 4px; border-radius: 2px; background: linear-gradient(90deg, #9fb0c4 var(--at), #2a3545 var(--at)); }
input[type=range]::-moz-range-track { height: 4px; border-radius: 2px; background: #2a3545; }
input[type=range]::-moz-range-progress { height: 4px; border-radius: 2px; background: #9fb0c4; }
input[type=range]::-webkit-slider-thumb { -webkit-appearance: none; width: 14px; height: 14px; margin-top: -5px; border-radius: 50%; background: var(--text); border: 0; }
input[type=range]::-moz-range-thumb { width: 14px; height: 14px; border-radius: 50%; background: var(--text); border: 0; }

.switches { display: grid; grid-template-columns: 1fr 1fr; gap: 7px 22px; }
.switch { display: flex; justify-content: space-between; align-items: center; gap: 8px; cursor: pointer; }
.switch b { font-weight: 500; }
.switch input { flex: none; -webkit-appearance: none; appearance: none; position: relative; width: 34px; height: 20px; margin: 0; border-radius: 10px;
  background: #2a3545; cursor: pointer; }
.switch input::after { content: ""; position: absolute; top: 3px; left: 3px; width: 14px; height: 14px; border-radius: 50%; background: #93a1b3; transition: transform .15s; }
.switch input:checked { background: #3f7fa6; }
.switch input:checked::after { transform: translateX(14px); background: #fff; }
.switch.truth input:checked { background: #a97f1c; }
.switch input:disabled { opacity: .4; cursor: default; }
.picks { margin-top: 8px; }

.pick { display: grid; font-size: 12.5px; grid-template-columns: minmax(0, 1fr); gap: 3px; white-space: nowrap; }
.pick select { min-width: 0; height: 26px; padding: 0 20px 0 8px; font-size: 12.5px; color: var(--text); border: 1px solid var(--line); border-radius: 6px;
  background: var(--raised) url("data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 10 6' width='10' height='6'%3E%3Cpath d='M1 1l4 4 4-4' fill='none' stroke='%238593a6' stroke-width='1.5'/%3E%3C/svg%3E") no-repeat right 7px center;
  -webkit-appearance: none; appearance: none; cursor: pointer; text-overflow: ellipsis; }

.measures { flex: 1 0 auto; display: flex; flex-direction: column; }
.lines { flex: 1 1 220px; min-height: 220px; max-height: 400px; display: grid; grid-auto-rows: minmax(0, 1fr); }
.measure { position: relative; display: flex; align-items: center; gap: 10px; min-height: 20px; min-width: 0; border-bottom: 1px solid rgba(150, 180, 220, .1); white-space: nowrap; }
.measure .plot { position: relative; flex: 1 1 auto; min-width: 0; height: 100%; }
.measure canvas { position: absolute; inset: 1px 0 0; width: 100%; height: calc(100% - 1px); cursor: crosshair; touch-action: pan-y; }
.measure .name { position: absolute; inset: 0 auto 0 0; padding: 0 18px 0 0; border: 0; text-align: left; color: var(--soft); cursor: help;
  background: linear-gradient(90deg, var(--back) 0, rgba(16, 21, 29, .88) calc(100% - 18px), transparent); }
.measure.sub .name { padding-left: 12px; color: var(--dim); }
.measure:hover .name { background: linear-gradient(90deg, var(--back) 0, rgba(16, 21, 29, .6) calc(100% - 18px), transparent); }
.measure b { flex: none; width: 104px; font-weight: 500; font-variant-numeric: tabular-nums; text-align: right; }
.measure b.zero { color: var(--dim) !important; }
[data-help] { cursor: help; }

.happened { flex: 0 0 auto; }
.happened ol { margin: 0; padding: 0; list-style: none; height: 74px; overflow: hidden; font-size: 12.5px; line-height: 1.45; }
.happened li { display: grid; grid-template-columns: 14px minmax(0, 1fr) auto; gap: 6px; color: var(--soft); }
.happened li > span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.happened time { color: var(--dim); font-variant-numeric: tabular-nums; }
.happened .none { display: block; color: var(--dim); }
.stall i { color: var(--bad); } .late i { color: var(--truth); } .you i { color: var(--mine); } .hit i { color: #6fd08c; } .miss i { color: var(--bad); } .page i { color: var(--dim); }
.happened i { font-style: normal; text-align: center; }

footer { margin-top: auto; padding-top: 9px; }
.legend { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 2px 12px; margin: 0; padding: 0; list-style: none; font-size: 12px; color: var(--dim); }
.legend li { display: flex; align-items: center; gap: 6px; cursor: help; }
.legend svg { width: 14px; height: 12px; }
.build { margin: 6px 0 0; font-size: 12px; color: #7c8aa0; }

.help { position: fixed; z-index: 22; width: max-content; max-width: min(300px, calc(100vw - 24px)); padding: 8px 12px; border: 1px solid #34435a; border-radius: 8px;
  background: #1c2634; color: var(--text); font-size: 13px; line-height: 1.45; box-shadow: 0 10px 34px rgba(0, 0, 0, .5); pointer-events: none; }

.strip { position: fixed; z-index: 19; inset: auto var(--side) 0 0; height: var(--strip); background: rgba(12, 16, 22, .93); border-top: 1px solid var(--line); }
.strip canvas { display: block; width: 100%; height: 100%; }

@media (min-width: 1500px) and (min-height: 860px) { :host { --side: 396px; } :host([docked]) .panel, .panel { padding: 20px 24px 16px; } }
@media (min-height: 960px) and (min-width: 821px) { section { margin-top: 15px; padding-top: 13px; } .happened ol { height: 110px; } .switches { row-gap: 9px; } }
@media (max-height: 930px) and (min-width: 821px) { .happened ol { height: 55px; } section { margin-top: 11px; padding-top: 9px; } }
@media (max-height: 800px) and (min-width: 821px) { .panel { padding-top: 9px; padding-bottom: 8px; } section { margin-top: 8px; padding-top: 7px; }
  h2 { margin-bottom: 4px; } .presets { margin-bottom: 4px; } .presets button { padding: 2px 8px; } .switches { row-gap: 4px; } .picks { margin-top: 4px; } .pick { gap: 1px; }
  .pick select { height: 23px; } .happened ol { height: 55px; } .build { display: none; } footer { padding-top: 6px; } .lines { min-height: 220px; flex-basis: 220px; } }
@media (max-height: 770px) and (min-width: 821px) { .legend { display: none; } .happened ol { height: 37px; } }

/* A small screen: a sheet from below. */
@media (max-width: 820px), (max-height: 480px) {
  .panel, :host([docked]) .panel { position: fixed; inset: auto 0 0 0; width: auto; height: auto; max-height: 76dvh; padding: 10px 18px calc(16px + env(safe-area-inset-bottom));
    border-left: 0; border-top: 1px solid var(--line); border-radius: 16px 16px 0 0; box-shadow: 0 -20px 60px rgba(0, 0, 0, .6); animation: up .22s ease-out; }
  .panel > * { flex-shrink: 0; }
  header { position: sticky; top: -10px; z-index: 1; margin: -10px -18px 0; padding: 10px 18px 8px; background: var(--back); }
  :host([docked]) .close, .close { display: block; width: 40px; height: 40px; font-size: 26px; }
  .strip { position: relative; inset: auto; height: 84px; margin: 4px -18px 0; border: 0; border-bottom: 1px solid var(--line); order: 1; }
  section, footer, slot, .build { order: 2; }
  header { order: 0; }
  .presets button { padding: 8px 10px; font-size: 13px; }
  .slide { font-size: 13px; } input[type=range] { height: 34px; }
  .switch { min-height: 34px; } .switches { gap: 4px 22px; }
  .pick select { height: 34px; }
  .lines { flex: none; min-height: 0; max-height: none; grid-auto-rows: 34px; }
  .happened ol { height: 112px; }
}
@keyframes up { from { transform: translateY(30%); opacity: 0; } }
@media (prefers-reduced-motion: reduce) { * { transition: none !important; animation: none !important; } }
`
