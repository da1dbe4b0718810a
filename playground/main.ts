/**
 * Joins the parts: what is set, what runs and what is shown. All of the state is here, in one object; the rest is functions from it.
 */
import { STYLESHEET } from '../src/sim/charts/stylesheet.ts'
import { policyToTypeScript } from '../src/sim/scenario/source.ts'
import type { Seen } from './charts.ts'
import { addGroup, type Update as UpdateControls } from './controls.ts'
import { copy } from './copy.ts'
import { byId, make, setText } from './element.ts'
import { fromHash, isSeed, LANGUAGES, type Language, toHash } from './link.ts'
import { PRESET_NAMES, type PresetName, presetLike, presetOf } from './presets.ts'
import { startRun } from './run.ts'
import { layersOf, scenarioFile, scenarioOf } from './scenario.ts'
import { changed, type Settings } from './settings.ts'
import { addFigures, addPlots, progress, verdict } from './view.ts'
import type { FixedWords, Words } from './words.ts'
import { en } from './words-en.ts'
import { ja } from './words-ja.ts'

const WORDS: Readonly<Record<Language, Words>> = { en, ja }

/** How long the page says that something was copied. */
const COPIED_MS = 2_000

interface State {
	settings: Settings
	/** As the link says, or as was chosen. */
	language: Language | undefined
	seen: Seen | undefined
	/** The last run that was over before something was changed. */
	before: Seen | undefined
	/** Ends the run that goes on. */
	stop(): void
}

const state: State = { ...fromHash(location.hash), seen: undefined, before: undefined, stop: () => {} }

const spoken = (): Language => state.language ?? (navigator.language.startsWith('ja') ? 'ja' : 'en')
const words = (): Words => WORDS[spoken()]

document.head.append(make('style', {}, STYLESHEET))
const main = byId('main', HTMLElement)
const [presetSelect, languageSelect] = [
	byId('preset', HTMLSelectElement),
	byId('language', HTMLSelectElement),
]
const seedInput = byId('seed', HTMLInputElement)
const [code, scenarioText] = [byId('code', HTMLElement), byId('scenario', HTMLElement)]
const [said, trace, copied] = [
	byId('verdict', HTMLElement),
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

/** Changes settings, and lets the new ones run. */
function set(changes: Partial<Settings>): void {
	apply(changed(state.settings, changes))
}

function apply(settings: Settings): void {
	state.settings = settings
	if (state.seen?.isOver) state.before = state.seen
	writeLink()
	showSettings()
	run()
}

function run(): void {
	state.stop()
	const scenario = scenarioOf(state.settings)
	main.dataset['state'] = 'running'
	state.stop = startRun(
		scenario,
		!matchMedia('(prefers-reduced-motion: reduce)').matches,
		(result, isOver) => {
			state.seen = { scenario, result, isOver }
			showRun()
			if (isOver) main.dataset['state'] = 'done'
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
	presetSelect.value = presetLike(state.settings) ?? ''
	seedInput.value = String(state.settings.seed)
	setText(code, policyToTypeScript(layersOf(state.settings)))
	setText(scenarioText, scenarioFile(scenarioOf(state.settings)))
}

function showRun(): void {
	const { seen, before } = state
	if (!seen) return
	const shown = { seen, before, words: words() }
	showFigures(shown)
	showPlots(shown)
	setText(said, verdict(shown))
	setText(trace, progress(shown))
}

function showWords(): void {
	const spokenWords = words()
	document.documentElement.lang = spoken()
	document.title = spokenWords.title
	languageSelect.value = spoken()
	for (const element of document.querySelectorAll<HTMLElement>('[data-word]'))
		setText(element, spokenWords[element.dataset['word'] as keyof FixedWords])
	setText(custom, spokenWords.custom)
	for (const item of presetItems) setText(item, spokenWords.presets[item.value as PresetName])
	showSettings()
	showRun()
}

presetSelect.addEventListener('change', () => {
	const name = PRESET_NAMES.find((known) => known === presetSelect.value)
	if (name) apply(presetOf(name, state.settings.seed))
})
seedInput.addEventListener('change', () => {
	const seed = seedInput.valueAsNumber
	if (isSeed(seed)) set({ seed })
	else showSettings()
})
byId('next-seed', HTMLButtonElement).addEventListener('click', () => set({ seed: state.settings.seed + 1 }))
byId('again', HTMLButtonElement).addEventListener('click', run)
languageSelect.addEventListener('change', () => {
	state.language = LANGUAGES.find((known) => known === languageSelect.value)
	writeLink()
	showWords()
})
for (const [id, source, textOf] of [
	['copy-code', code, () => code.textContent],
	['copy-scenario', scenarioText, () => scenarioText.textContent],
	['copy-link', undefined, () => location.href],
] as const)
	byId(id, HTMLButtonElement).addEventListener('click', () => {
		void copy(textOf(), source).then((how) => {
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
run()
