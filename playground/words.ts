/** The texts of the page. A language that lacks one does not compile. */
import type { FigureName } from './figures.ts'
import type { PresetName } from './presets.ts'
import type { Choice, GroupName, KNOBS, KnobName, Settings } from './settings.ts'

type ChoiceName = { [Name in KnobName]: (typeof KNOBS)[Name] extends Choice ? Name : never }[KnobName]

/** Sliders whose last value means "no limit". */
type UnlimitedName = 'queueLimit' | 'goodWithinMs' | 'timeoutMs' | 'bulkhead'

export type ChartName = 'requests' | 'responses' | 'work' | 'queue'

export type SeriesName =
	| 'calls'
	| 'requests'
	| 'capacity'
	| 'good'
	| 'bad'
	| 'useful'
	| 'wasted'
	| 'queued'
	| 'queuedAtShop'
	| 'previous'

/** Texts that do not change with the run, by the `data-word` attribute of their elements. */
export interface FixedWords {
	readonly title: string
	readonly lead: string
	readonly world: string
	readonly policy: string
	readonly results: string
	readonly preset: string
	readonly custom: string
	readonly seed: string
	readonly nextSeed: string
	readonly again: string
	readonly language: string
	readonly code: string
	readonly codeNote: string
	readonly scenario: string
	readonly scenarioNote: string
	readonly copyCode: string
	readonly copyScenario: string
	readonly copyLink: string
	readonly how: string
	readonly howText: string
}

export interface Words extends FixedWords {
	readonly presets: Readonly<Record<PresetName, string>>
	readonly groups: Readonly<Record<GroupName, string>>
	readonly knobs: Readonly<Record<Exclude<KnobName, 'seed'>, string>>
	readonly options: { readonly [Name in ChoiceName]: Readonly<Record<Settings[Name], string>> }
	readonly unlimited: Readonly<Record<UnlimitedName, string>>
	readonly figures: Readonly<Record<FigureName, string>>
	/** What a figure means, in one sentence. */
	readonly descriptions: Readonly<Record<FigureName, string>>
	readonly never: string
	readonly unknown: string
	readonly charts: Readonly<Record<ChartName, string>>
	readonly units: Readonly<Record<ChartName, string>>
	readonly series: Readonly<Record<SeriesName, string>>
	readonly seconds: string
	readonly copied: string
	readonly selected: string
	compared(change: 'better' | 'worse' | 'same', previous: string): string
	/** Describes a series for screen readers. */
	describeSeries(series: string, most: string, last: string): string
	running(now: string, of: string): string
	recovered(after: string): string
	notRecovered(since: string): string
	notShown(since: string): string
	noFault(): string
	eventLimit(at: string): string
	trace(events: string, hash: string): string
}
