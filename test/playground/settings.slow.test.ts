/** The logic of the playground, without a browser. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Simulation, type SimulationResult, simulate } from 'yaoki/sim'
import { compareFigures, formatValue, readFigure } from '../../playground/figures.ts'
import { fromHash, toHash } from '../../playground/link.ts'
import { findPreset, getPreset, PRESET_NAMES } from '../../playground/presets.ts'
import { capacityOf, scenarioOf } from '../../playground/scenario.ts'
import {
	changeSettings,
	INITIAL,
	isUsed,
	KNOBS,
	type Knob,
	type Settings,
} from '../../playground/settings.ts'
import type { FixedWords } from '../../playground/words.ts'
import { en } from '../../playground/words-en.ts'
import { ja } from '../../playground/words-ja.ts'
import { ROOT } from '../../scripts/tools.ts'

/** Any combination that the controls allow. */
const anySettings: fc.Arbitrary<Settings> = fc
	.record(Object.fromEntries(Object.entries<Knob>(KNOBS).map(([name, knob]) => [name, anyValue(knob)])))
	.map((settings) => changeSettings(INITIAL, settings as Partial<Settings>))

function anyValue(knob: Knob): fc.Arbitrary<unknown> {
	if (knob.kind === 'slider') return fc.constantFrom(...knob.values)
	if (knob.kind === 'choice') return fc.constantFrom(...knob.options)
	return knob.kind === 'switch' ? fc.boolean() : fc.nat()
}

describe('settings', () => {
	test('every combination is a valid scenario', () => {
		fc.assert(
			fc.property(anySettings, (settings) => {
				const simulation = new Simulation(scenarioOf(settings))
				simulation.advance(50)
				expect(simulation.result().endedAtMs).toBe(50)
			}),
		)
	})

	test('the load is a share of the capacity for every distribution', () => {
		for (const distribution of KNOBS.distribution.options) {
			const settings = changeSettings(INITIAL, { distribution, workers: 20, serviceMs: 80 })
			const { services } = simulate({ ...scenarioOf(settings), durationMs: 1 })
			expect(services['service']?.capacityPerSecond).toBeCloseTo(capacityOf(settings), 6)
		}
	})

	test('maxDelayMs stays at or above baseDelayMs', () => {
		const longer = changeSettings(INITIAL, { baseDelayMs: 5_000, maxDelayMs: 5_000 })
		expect(changeSettings(INITIAL, { maxDelayMs: 100, baseDelayMs: 100 })).toMatchObject({
			baseDelayMs: 100,
			maxDelayMs: 100,
		})
		expect(changeSettings(longer, { maxDelayMs: 200 })).toMatchObject({ baseDelayMs: 200, maxDelayMs: 200 })
		expect(
			changeSettings(changeSettings(INITIAL, { maxDelayMs: 1_000 }), { baseDelayMs: 2_000 }),
		).toMatchObject({
			baseDelayMs: 2_000,
			maxDelayMs: 2_000,
		})
	})

	test('hidden settings have no effect', () => {
		fc.assert(
			fc.property(anySettings, anySettings, (settings, others) => {
				const unused = Object.keys(KNOBS).filter((name) => !isUsed(name as keyof Settings, settings))
				const moved = Object.fromEntries(unused.map((name) => [name, others[name as keyof Settings]]))
				// Without changeSettings, which would adjust maxDelayMs.
				expect(scenarioOf({ ...settings, ...moved })).toEqual(scenarioOf(settings))
			}),
		)
	})
})

describe('a link', () => {
	test('round-trips the settings and the language', () => {
		fc.assert(
			fc.property(anySettings, fc.constantFrom('en', 'ja', undefined), (settings, language) => {
				expect(fromHash(`#${toHash({ settings, language })}`)).toEqual({ settings, language })
			}),
		)
	})

	test('contains only what differs from the initial settings', () => {
		expect(toHash({ settings: INITIAL, language: undefined })).toBe('')
		const settings = changeSettings(INITIAL, { retries: 5, timeoutMs: Infinity })
		expect(toHash({ settings, language: 'ja' })).toBe('retries=5&timeoutMs=none&language=ja')
	})

	test('opens even if it is broken or old', () => {
		fc.assert(
			fc.property(fc.string(), fc.constantFrom('load', 'seed', 'fault', 'maxDelayMs'), (text, name) => {
				const { settings } = fromHash(`#${name}=${text}&${text}`)
				expect(() => new Simulation(scenarioOf(settings))).not.toThrow()
			}),
		)
		expect(fromHash('#load=7&fault=flood&seed=-1&workers=&jitter=full').settings).toEqual(INITIAL)
	})
})

describe('presets', () => {
	const results = new Map<string, SimulationResult>()
	const run = (name: (typeof PRESET_NAMES)[number]): SimulationResult => {
		const known = results.get(name) ?? simulate(scenarioOf(getPreset(name)))
		results.set(name, known)
		return known
	}

	test('are recognized by their settings, regardless of the seed', () => {
		for (const name of PRESET_NAMES) expect(findPreset(getPreset(name, 77))).toBe(name)
		expect(findPreset(changeSettings(INITIAL, { load: 0.95 }))).toBeUndefined()
	})

	test('a metastable failure outlasts its fault; a budget or a LIFO queue ends it', () => {
		expect(run('metastable').recovery?.recoveredAfterMs).toBeNull()
		for (const name of ['metastableBudget', 'metastableLifo'] as const)
			expect(run(name).recovery?.recoveredAfterMs).toBeLessThan(5_000)
	})

	test('jitter halves the recovery time of a thundering herd and avoids wasted work', () => {
		const [none, full] = [run('herd'), run('herdJitter')]
		expect(full.recovery?.recoveredAfterMs).toBeLessThan((none.recovery?.recoveredAfterMs ?? 0) / 2)
		expect(none.totals.wastedShare).toBeGreaterThan(0.3)
		expect(full.totals.wastedShare).toBeLessThan(0.01)
		expect(full.totals.goodShare).toBe(1)
	})

	test('a bulkhead protects the shop from a slow dependency', () => {
		expect(run('slow').totals.goodShare).toBeLessThan(0.5)
		expect(run('slowBulkhead').totals.goodShare).toBeGreaterThan(0.9)
	})

	test('retries help if 20 % of the responses fail', () => {
		expect(run('partial').totals.goodShare).toBeLessThan(0.92)
		expect(run('partialRetry').totals.goodShare).toBeGreaterThan(0.99)
	})
})

describe('figures', () => {
	test('have a unit, and are not rounded to 0 % or 100 %', () => {
		expect(formatValue(0.7, 'share')).toBe('70 %')
		expect(formatValue(0.99999, 'share')).toBe('> 99.9 %')
		expect(formatValue(0.00001, 'share')).toBe('< 0.1 %')
		expect(formatValue(1, 'share')).toBe('100 %')
		expect(formatValue(250, 'ms')).toBe('250 ms')
		expect(formatValue(2_500, 'ms')).toBe('2.5 s')
		expect(formatValue(3, 'times')).toBe('× 3')
		expect(formatValue(1_250, 'perSecond')).toBe('1,250/s')
	})

	test('"never" is worse than any duration, and unknown while a run is not done', () => {
		const [soon, never] = [{ value: 5_000 }, 'never'] as const
		expect(compareFigures('recoveredAfterMs', soon, never)).toBe('better')
		expect(compareFigures('recoveredAfterMs', never, soon)).toBe('worse')
		expect(compareFigures('goodShare', { value: 0.9 }, { value: 0.8 })).toBe('better')
		expect(compareFigures('wastedShare', { value: 0.20001 }, { value: 0.2 })).toBe('same')
		expect(compareFigures('p99Ms', { value: 3 }, 'unknown')).toBeUndefined()
		const simulation = new Simulation(scenarioOf(INITIAL))
		simulation.advance(30_000)
		expect(readFigure('recoveredAfterMs', simulation.result())).toBe('unknown')
	})
})

describe('words', () => {
	/** Returns all texts of a language by path. Functions are called with samples. */
	function texts(words: object, path = ''): readonly (readonly [string, string])[] {
		return Object.entries(words).flatMap(([name, value]) => {
			const key = path ? `${path}.${name}` : name
			if (typeof value === 'string') return [[key, value] as const]
			if (typeof value === 'function') return [[key, String(value('better', '5', '7'))] as const]
			return texts(value, key)
		})
	}

	test('exist in both languages, and the Japanese ones are Japanese', () => {
		const [english, japanese] = [texts(en), texts(ja)]
		expect(japanese.map(([key]) => key)).toEqual(english.map(([key]) => key))
		for (const [key, text] of [...english, ...japanese]) expect(text.trim(), key).not.toBe('')
		const untranslated = japanese.filter(([, text]) => !/[\u3040-\u30FF\u4E00-\u9FFF]/.test(text))
		expect(untranslated.map(([key]) => key)).toEqual([
			'options.jitter.equal',
			'options.jitter.full',
			'options.jitter.decorrelated',
			'unknown',
			'running',
		])
	})

	test('in the markup equal the English ones, which are visible before the script has run', () => {
		const html = readFileSync(join(ROOT, 'playground', 'index.html'), 'utf8')
		const found = [...html.matchAll(/data-word="(\w+)"[^>]*>([^<]*)</g)]
		expect(found.length).toBeGreaterThan(15)
		for (const [, name = '', text = ''] of found)
			expect(text.replaceAll(/\s+/g, ' ').trim(), name).toBe(en[name as keyof FixedWords])
	})
})
