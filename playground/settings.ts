/**
 * All settings of the page in one table. Controls, links, presets and scenario are derived from it, so none of them can miss a
 * setting. A slider moves over a list of values instead of a range: useful values lie on a 1-2-5 scale, and a list can end in
 * "no limit".
 */

/** Determines how a value is formatted. */
export type Unit = 'share' | 'ms' | 'seconds' | 'count' | 'times' | 'perSecond'

export interface Slider {
	readonly kind: 'slider'
	readonly unit: Unit
	/** From left to right. Infinity means no limit, or off. */
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

interface Entry {
	readonly kind: 'entry'
	readonly initial: number
}

export type Knob = Slider | Choice | Switch | Entry

const slider = (unit: Unit, initial: number, ...values: readonly number[]): Slider => {
	return { kind: 'slider', unit, values, initial }
}
const choice = <Option extends string>(initial: Option, ...options: readonly Option[]): Choice<Option> => {
	return { kind: 'choice', options, initial }
}

const percent = (from: number, to: number, step: number): number[] =>
	Array.from({ length: Math.round((to - from) / step) + 1 }, (_, index) => (from + index * step) / 100)

export const KNOBS = {
	calledBy: choice('clients', 'clients', 'shop'),
	workers: slider('count', 10, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 50),
	serviceMs: slider('ms', 50, 10, 20, 30, 50, 80, 100, 150, 200, 300, 500),
	distribution: choice('exponential', 'constant', 'exponential', 'lognormal'),
	queueLimit: slider('count', Infinity, 0, 5, 10, 20, 50, 100, 200, 500, 1_000, 5_000, Infinity),
	queueOrder: choice('fifo', 'fifo', 'lifo'),
	dropExpired: { kind: 'switch', initial: false },

	arrivals: choice('random', 'random', 'simultaneous'),
	load: slider('share', 0.7, ...percent(10, 150, 5)),
	clients: slider('count', 10, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000),
	goodWithinMs: slider('ms', 3_000, 200, 500, 1_000, 2_000, 3_000, 5_000, 10_000, 30_000, Infinity),

	fault: choice('hang', 'none', 'refuse', 'hang', 'pause', 'slowdown', 'errors'),
	faultSeconds: slider('seconds', 10, 0.5, 1, 2, 3, 5, 8, 10, 15, 20, 30, 45, 60),
	slowdown: slider('times', 10, 2, 3, 5, 10, 20, 50),
	errorRate: slider('share', 0.5, ...percent(5, 100, 5)),

	retries: slider('count', 3, 0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20),
	baseDelayMs: slider('ms', 100, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000),
	maxDelayMs: slider('ms', 5_000, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000),
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

/** The settings in display order: first the environment, then the policy. */
export const GROUPS = {
	service: ['calledBy', 'workers', 'serviceMs', 'distribution', 'queueLimit', 'queueOrder', 'dropExpired'],
	traffic: ['arrivals', 'load', 'clients', 'goodWithinMs'],
	fault: ['fault', 'faultSeconds', 'slowdown', 'errorRate'],
	retry: ['retries', 'baseDelayMs', 'maxDelayMs', 'jitter'],
	budget: ['budget', 'budgetRatio', 'budgetFloor', 'budgetCapacity'],
	breaker: ['breaker', 'breakerFailures', 'breakerRate', 'breakerResetMs'],
	limits: ['timeoutMs', 'bulkhead', 'bulkheadQueue'],
} as const satisfies Readonly<Record<string, readonly KnobName[]>>

export type GroupName = keyof typeof GROUPS

type ValueOf<Of> = Of extends Choice<infer Option> ? Option : Of extends Switch ? boolean : number

export type Settings = { readonly [Name in KnobName]: ValueOf<(typeof KNOBS)[Name]> }

export const KNOB_NAMES: readonly KnobName[] = Object.keys(KNOBS) as KnobName[]

export const INITIAL: Settings = Object.fromEntries(
	Object.entries(KNOBS).map(([name, { initial }]) => [name, initial]),
) as Settings

/** Returns the settings with changes. Keeps `maxDelayMs` at or above `baseDelayMs`, because a policy rejects other values. */
export function changeSettings(settings: Settings, changes: Partial<Settings>): Settings {
	const next = { ...settings, ...changes }
	if (next.maxDelayMs >= next.baseDelayMs) return next
	return changes.maxDelayMs === undefined
		? { ...next, maxDelayMs: firstAtLeast(KNOBS.maxDelayMs, next.baseDelayMs) }
		: { ...next, baseDelayMs: lastAtMost(KNOBS.baseDelayMs, next.maxDelayMs) }
}

const firstAtLeast = ({ values }: Slider, min: number): number => values.find((value) => value >= min) ?? min
const lastAtMost = ({ values }: Slider, max: number): number =>
	values.findLast((value) => value <= max) ?? max

/** Returns whether a setting has an effect in combination with the others. The page hides settings without effect. */
export function isUsed(name: KnobName, settings: Settings): boolean {
	const when = USED_WHEN[name]
	return when === undefined || when(settings)
}

const hasRetries = ({ retries }: Settings): boolean => retries > 0

const USED_WHEN: { readonly [Name in KnobName]?: (settings: Settings) => boolean } = {
	arrivals: ({ calledBy }) => calledBy === 'clients',
	load: ({ calledBy, arrivals }) => calledBy === 'shop' || arrivals === 'random',
	clients: ({ calledBy }) => calledBy === 'clients',
	faultSeconds: ({ fault }) => fault !== 'none',
	slowdown: ({ fault }) => fault === 'slowdown',
	errorRate: ({ fault }) => fault === 'errors',
	baseDelayMs: hasRetries,
	maxDelayMs: hasRetries,
	jitter: hasRetries,
	budget: hasRetries,
	budgetRatio: (settings) => hasRetries(settings) && /ratio|tokens/.test(settings.budget),
	budgetFloor: (settings) => hasRetries(settings) && settings.budget === 'ratio',
	budgetCapacity: (settings) => hasRetries(settings) && settings.budget === 'quota',
	breakerFailures: ({ breaker }) => breaker === 'consecutive',
	breakerRate: ({ breaker }) => breaker === 'rate',
	breakerResetMs: ({ breaker }) => breaker !== 'off',
	bulkheadQueue: ({ bulkhead }) => bulkhead < Infinity,
}
