/**
 * All that can be set on the page, in one table: the controls, the link, the presets and the scenario are made from it, so that
 * none of them can know a setting that the others do not. A slider moves over a list of values and not over a range: what is worth
 * trying lies evenly on a scale of 1, 2, 5, and a list can end in "no limit".
 */

/** How a value is written: a share in percent, a time in milliseconds or seconds, a number of things, times as much. */
export type Unit = 'share' | 'ms' | 'seconds' | 'count' | 'times' | 'perSecond'

export interface Slider {
	readonly kind: 'slider'
	readonly unit: Unit
	/** From left to right. Infinity is no limit, or off. */
	readonly values: readonly number[]
	readonly initial: number
}

export interface Choice<Option extends string = string> {
	readonly kind: 'choice'
	readonly options: readonly Option[]
	readonly initial: Option
}

interface Switch {
	readonly kind: 'switch'
	readonly initial: boolean
}

/** A number that is typed in. */
interface Entry {
	readonly kind: 'entry'
	readonly initial: number
}

export type Knob = Slider | Choice | Switch | Entry

const slider = (unit: Unit, initial: number, ...values: readonly number[]): Slider => ({
	kind: 'slider',
	unit,
	values,
	initial,
})
const choice = <Option extends string>(initial: Option, ...options: readonly Option[]): Choice<Option> => ({
	kind: 'choice',
	options,
	initial,
})

const percent = (from: number, to: number, step: number): number[] =>
	Array.from({ length: Math.round((to - from) / step) + 1 }, (_, index) => (from + index * step) / 100)

export const KNOBS = {
	place: choice('direct', 'direct', 'behind'),
	workers: slider('count', 10, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 50),
	serviceMs: slider('ms', 50, 10, 20, 30, 50, 80, 100, 150, 200, 300, 500),
	serviceLaw: choice('exponential', 'constant', 'exponential', 'lognormal'),
	queueLimit: slider('count', Infinity, 0, 5, 10, 20, 50, 100, 200, 500, 1_000, 5_000, Infinity),
	queueOrder: choice('fifo', 'fifo', 'lifo'),
	dropExpired: { kind: 'switch', initial: false },

	arrivals: choice('steady', 'steady', 'together'),
	load: slider('share', 0.7, ...percent(10, 150, 5)),
	clients: slider('count', 10, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000),
	patienceMs: slider('ms', 3_000, 200, 500, 1_000, 2_000, 3_000, 5_000, 10_000, 30_000, Infinity),

	fault: choice('hang', 'none', 'refuse', 'hang', 'slowdown', 'errors'),
	faultSeconds: slider('seconds', 10, 0.5, 1, 2, 3, 5, 8, 10, 15, 20, 30, 45, 60),
	slowdown: slider('times', 10, 2, 3, 5, 10, 20, 50),
	errorRate: slider('share', 0.5, ...percent(5, 100, 5)),

	retries: slider('count', 3, 0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20),
	baseMs: slider('ms', 100, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000),
	capMs: slider('ms', 5_000, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000),
	jitter: choice('full', 'none', 'equal', 'full', 'decorrelated'),
	timeoutMs: slider('ms', 1_000, 50, 100, 200, 300, 500, 1_000, 2_000, 3_000, 5_000, 10_000, Infinity),
	budget: choice('off', 'off', 'ratio', 'tokens', 'quota'),
	budgetRatio: slider('share', 0.1, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1),
	budgetFloor: slider('perSecond', 1, 0, 1, 2, 5, 10, 20, 50),
	budgetCapacity: slider('count', 500, 10, 20, 50, 100, 200, 500, 1_000, 5_000),
	breaker: choice('off', 'off', 'consecutive', 'rate'),
	breakerFailures: slider('count', 5, 1, 2, 3, 5, 10, 20, 50),
	breakerRate: slider('share', 0.5, ...percent(10, 90, 10)),
	breakerResetMs: slider('ms', 5_000, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000),
	bulkhead: slider('count', Infinity, 1, 2, 3, 5, 8, 10, 15, 20, 30, 50, 100, 200, Infinity),
	bulkheadQueue: slider('count', 0, 0, 5, 10, 20, 50, 100, 200),

	seed: { kind: 'entry', initial: 1 },
} as const satisfies Readonly<Record<string, Knob>>

export type KnobName = keyof typeof KNOBS

/** The settings in the order in which they are shown: what the world is like, and what the policy is. */
export const GROUPS = {
	service: ['place', 'workers', 'serviceMs', 'serviceLaw', 'queueLimit', 'queueOrder', 'dropExpired'],
	traffic: ['arrivals', 'load', 'clients', 'patienceMs'],
	fault: ['fault', 'faultSeconds', 'slowdown', 'errorRate'],
	retry: ['retries', 'baseMs', 'capMs', 'jitter'],
	budget: ['budget', 'budgetRatio', 'budgetFloor', 'budgetCapacity'],
	breaker: ['breaker', 'breakerFailures', 'breakerRate', 'breakerResetMs'],
	limits: ['timeoutMs', 'bulkhead', 'bulkheadQueue'],
} as const satisfies Readonly<Record<string, readonly KnobName[]>>

export type GroupName = keyof typeof GROUPS

type ValueOf<Of> = Of extends Choice<infer Option> ? Option : Of extends Switch ? boolean : number

/** What is set at present. */
export type Settings = { readonly [Name in KnobName]: ValueOf<(typeof KNOBS)[Name]> }

export const KNOB_NAMES: readonly KnobName[] = Object.keys(KNOBS) as KnobName[]

export const INITIAL: Settings = Object.fromEntries(
	Object.entries(KNOBS).map(([name, { initial }]) => [name, initial]),
) as Settings

/** The settings with one of them changed, and what must follow: a cap below the first wait would be refused. */
export function changed(settings: Settings, changes: Partial<Settings>): Settings {
	const next = { ...settings, ...changes }
	if (next.capMs >= next.baseMs) return next
	return changes.capMs === undefined
		? { ...next, capMs: firstFrom(KNOBS.capMs, next.baseMs) }
		: { ...next, baseMs: lastUpTo(KNOBS.baseMs, next.capMs) }
}

const firstFrom = ({ values }: Slider, least: number): number =>
	values.find((value) => value >= least) ?? least
const lastUpTo = ({ values }: Slider, most: number): number =>
	values.findLast((value) => value <= most) ?? most

/** Whether a setting has any effect beside the others; one that has none is not shown. */
export function isUsed(name: KnobName, settings: Settings): boolean {
	const when = USED_WHEN[name]
	return when === undefined || when(settings)
}

const retries = ({ retries: count }: Settings): boolean => count > 0

const USED_WHEN: { readonly [Name in KnobName]?: (settings: Settings) => boolean } = {
	arrivals: ({ place }) => place === 'direct',
	load: ({ place, arrivals }) => place === 'behind' || arrivals === 'steady',
	clients: ({ place }) => place === 'direct',
	faultSeconds: ({ fault }) => fault !== 'none',
	slowdown: ({ fault }) => fault === 'slowdown',
	errorRate: ({ fault }) => fault === 'errors',
	baseMs: retries,
	capMs: retries,
	jitter: retries,
	budget: retries,
	budgetRatio: (settings) => retries(settings) && /ratio|tokens/.test(settings.budget),
	budgetFloor: (settings) => retries(settings) && settings.budget === 'ratio',
	budgetCapacity: (settings) => retries(settings) && settings.budget === 'quota',
	breakerFailures: ({ breaker }) => breaker === 'consecutive',
	breakerRate: ({ breaker }) => breaker === 'rate',
	breakerResetMs: ({ breaker }) => breaker !== 'off',
	bulkheadQueue: ({ bulkhead }) => bulkhead < Infinity,
}
