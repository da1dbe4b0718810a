/** Connects settings, simulation and view. All state of the page is in one object here. */
import { STYLESHEET } from '../src/sim/charts/stylesheet.ts'
import { policyToTypeScript } from '../src/sim/scenario/source.ts'
import type { WatchedRun } from './charts.ts'
import { addGroup, type Update as UpdateControls } from './controls.ts'
import { byId, copy, make, setText } from './element.ts'
import { fromHash, isSeed, LANGUAGES, type Language, toHash } from './link.ts'
import { findPreset, getPreset, PRESET_NAMES, type PresetName } from './presets.ts'
import { startRun } from './run.ts'
import { layersOf, scenarioFile, scenarioOf } from './scenario.ts'
import { changeSettings, type Settings } from './settings.ts'
import { addFigures, addPlots, describeOutcome, describeProgress } from './view.ts'
import type { FixedWords, Words } from './words.ts'
import { en } from './words-en.ts'
import { ja } from './words-ja.ts'

const WORDS: Readonly<Record<Language, Words>> = { en, ja }

/** How long the page shows that something was copied. */
const COPIED_MS = 2_000

interface State {
	settings: Settings
	/** The choice in the link or in the language menu. Undefined: the language of the browser. */
	language: Language | undefined
	run: WatchedRun | undefined
	/** The last complete run before a change. */
	previous: WatchedRun | undefined
	stop(): void
}

const state: State = { ...fromHash(location.hash), run: undefined, previous: undefined, stop: () => {} }

const currentLanguage = (): Language => state.language ?? (navigator.language.startsWith('ja') ? 'ja' : 'en')
const words = (): Words => WORDS[currentLanguage()]

document.head.append(make('style', {}, STYLESHEET))
const main = byId('main', HTMLElement)
const [presetSelect, languageSelect] = [
	byId('preset', HTMLSelectElement),
	byId('language', HTMLSelectElement),
]
const seedInput = byId('seed', HTMLInputElement)
const [code, scenarioText] = [byId('code', HTMLElement), byId('scenario', HTMLElement)]
const [outcome, trace, copied] = [
	byId('outcome', HTMLElement),
	byId('trace', HTMLElement),
	byId('copied', HTMLElement),
]

const controls: readonly UpdateControls[] = [
	...(['service', 'traffic', 'fault'] as const).map((group) =>
		addGroup(byId('world', HTMLElement), group, set),
	),
	...(['retry', 'budget', 'breaker', 'limits'] as const).map((group) =>
		addGroup(byId('policy', HTMLElement), group, set),
	),
]
const showFigures = addFigures(byId('figures', HTMLElement))
const showPlots = addPlots(byId('plots', HTMLElement))
const custom = make('option', { value: '', disabled: true })
const presetItems = PRESET_NAMES.map((name) => make('option', { value: name }))
presetSelect.append(custom, ...presetItems)

function set(changes: Partial<Settings>): void {
	apply(changeSettings(state.settings, changes))
}

function apply(settings: Settings): void {
	state.settings = settings
	if (state.run?.isDone) state.previous = state.run
	writeLink()
	showSettings()
	startNewRun()
}

function startNewRun(): void {
	state.stop()
	const scenario = scenarioOf(state.settings)
	main.dataset['state'] = 'running'
	state.stop = startRun(
		scenario,
		!matchMedia('(prefers-reduced-motion: reduce)').matches,
		(result, isDone) => {
			state.run = { scenario, result, isDone }
			showRun()
			if (isDone) main.dataset['state'] = 'done'
		},
	)
}

function writeLink(): void {
	const hash = toHash(state)
	history.replaceState(null, '', hash ? `#${hash}` : location.href.split('#')[0])
}

function showSettings(): void {
	const shown = { settings: state.settings, words: words() }
	for (const update of controls) update(shown)
	presetSelect.value = findPreset(state.settings) ?? ''
	seedInput.value = String(state.settings.seed)
	setText(code, policyToTypeScript(layersOf(state.settings)))
	setText(scenarioText, scenarioFile(scenarioOf(state.settings)))
}

function showRun(): void {
	const { run, previous } = state
	if (!run) return
	const shown = { run, previous, words: words() }
	showFigures(shown)
	showPlots(shown)
	setText(outcome, describeOutcome(shown))
	setText(trace, describeProgress(shown))
}

function showWords(): void {
	const texts = words()
	document.documentElement.lang = currentLanguage()
	document.title = texts.title
	languageSelect.value = currentLanguage()
	for (const element of document.querySelectorAll<HTMLElement>('[data-word]'))
		setText(element, texts[element.dataset['word'] as keyof FixedWords])
	setText(custom, texts.custom)
	for (const item of presetItems) setText(item, texts.presets[item.value as PresetName])
	showSettings()
	showRun()
}

presetSelect.addEventListener('change', () => {
	const name = PRESET_NAMES.find((known) => known === presetSelect.value)
	if (name) apply(getPreset(name, state.settings.seed))
})
seedInput.addEventListener('change', () => {
	const seed = seedInput.valueAsNumber
	if (isSeed(seed)) set({ seed })
	else showSettings()
})
byId('next-seed', HTMLButtonElement).addEventListener('click', () => set({ seed: state.settings.seed + 1 }))
byId('again', HTMLButtonElement).addEventListener('click', startNewRun)
languageSelect.addEventListener('change', () => {
	state.language = LANGUAGES.find((known) => known === languageSelect.value)
	writeLink()
	showWords()
})
for (const [id, source, getText] of [
	['copy-code', code, () => code.textContent],
	['copy-scenario', scenarioText, () => scenarioText.textContent],
	['copy-link', undefined, () => location.href],
] as const)
	byId(id, HTMLButtonElement).addEventListener('click', () => {
		void copy(getText(), source).then((how) => {
			setText(copied, words()[how])
			setTimeout(() => setText(copied, ''), COPIED_MS)
		})
	})
addEventListener('hashchange', () => {
	const { settings, language } = fromHash(location.hash)
	state.language = language
	apply(settings)
	showWords()
})

showWords()
startNewRun()
