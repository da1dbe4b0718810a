/** What the page is made of, without a page. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Simulation, type SimulationResult, simulate } from 'yaoki/sim'
import { change, readingOf, written } from '../../playground/figures.ts'
import { fromHash, toHash } from '../../playground/link.ts'
import { PRESET_NAMES, presetLike, presetOf } from '../../playground/presets.ts'
import { capacityOf, scenarioOf } from '../../playground/scenario.ts'
import { changed, INITIAL, isUsed, KNOBS, type Knob, type Settings } from '../../playground/settings.ts'
import type { FixedWords } from '../../playground/words.ts'
import { en } from '../../playground/words-en.ts'
import { ja } from '../../playground/words-ja.ts'
import { ROOT } from '../../scripts/tools.ts'

/** Whatever the controls can be set to. */
const anySettings: fc.Arbitrary<Settings> = fc
	.record(Object.fromEntries(Object.entries<Knob>(KNOBS).map(([name, knob]) => [name, anyValue(knob)])))
	.map((settings) => changed(INITIAL, settings as Partial<Settings>))

function anyValue(knob: Knob): fc.Arbitrary<unknown> {
	if (knob.kind === 'slider') return fc.constantFrom(...knob.values)
	if (knob.kind === 'choice') return fc.constantFrom(...knob.options)
	return knob.kind === 'switch' ? fc.boolean() : fc.nat()
}

describe('settings', () => {
	test('all that can be set is a scenario that the simulator takes', () => {
		fc.assert(
			fc.property(anySettings, (settings) => {
				const simulation = new Simulation(scenarioOf(settings))
				simulation.advance(50)
				expect(simulation.result().endedAtMs).toBe(50)
			}),
		)
	})

	test('the load is a share of what the service can do, whatever its service times are', () => {
		for (const serviceLaw of KNOBS.serviceLaw.options) {
			const settings = changed(INITIAL, { serviceLaw, workers: 20, serviceMs: 80 })
			const { services } = simulate({ ...scenarioOf(settings), duration: 1 })
			expect(services['service']?.capacityPerSecond).toBeCloseTo(capacityOf(settings), 6)
		}
	})

	test('a wait and its cap follow each other, so that neither is refused', () => {
		const longer = changed(INITIAL, { baseMs: 5_000, capMs: 5_000 })
		expect(changed(INITIAL, { capMs: 100, baseMs: 100 })).toMatchObject({ baseMs: 100, capMs: 100 })
		expect(changed(longer, { capMs: 200 })).toMatchObject({ baseMs: 200, capMs: 200 })
		expect(changed(changed(INITIAL, { capMs: 1_000 }), { baseMs: 2_000 })).toMatchObject({
			baseMs: 2_000,
			capMs: 2_000,
		})
	})

	test('a setting that changes nothing is not shown', () => {
		fc.assert(
			fc.property(anySettings, anySettings, (settings, others) => {
				const unused = Object.keys(KNOBS).filter((name) => !isUsed(name as keyof Settings, settings))
				const moved = Object.fromEntries(unused.map((name) => [name, others[name as keyof Settings]]))
				// Past the rule that a cap follows its wait.
				expect(scenarioOf({ ...settings, ...moved })).toEqual(scenarioOf(settings))
			}),
		)
	})
})

describe('a link', () => {
	test('brings back what was set', () => {
		fc.assert(
			fc.property(anySettings, fc.constantFrom('en', 'ja', undefined), (settings, language) => {
				expect(fromHash(`#${toHash({ settings, language })}`)).toEqual({ settings, language })
			}),
		)
	})

	test('says no more than what differs', () => {
		expect(toHash({ settings: INITIAL, language: undefined })).toBe('')
		const settings = changed(INITIAL, { retries: 5, timeoutMs: Infinity })
		expect(toHash({ settings, language: 'ja' })).toBe('retries=5&timeoutMs=none&language=ja')
	})

	test('that is broken or old still opens', () => {
		fc.assert(
			fc.property(fc.string(), fc.constantFrom('load', 'seed', 'fault', 'capMs'), (text, name) => {
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
		const known = results.get(name) ?? simulate(scenarioOf(presetOf(name)))
		results.set(name, known)
		return known
	}

	test('each is found again by its settings, whatever the seed', () => {
		for (const name of PRESET_NAMES) expect(presetLike(presetOf(name, 77))).toBe(name)
		expect(presetLike(changed(INITIAL, { load: 0.95 }))).toBeUndefined()
	})

	test('a metastable failure outlives its cause; a budget or the newest first ends it', () => {
		expect(run('metastable').recovery?.recoveredAfterMs).toBeNull()
		for (const name of ['metastableBudget', 'metastableLifo'] as const)
			expect(run(name).recovery?.recoveredAfterMs).toBeLessThan(5_000)
	})

	test('jitter spreads a herd: it is over sooner, and no work is wasted', () => {
		const [none, full] = [run('herd'), run('herdJitter')]
		expect(full.recovery?.recoveredAfterMs).toBeLessThan((none.recovery?.recoveredAfterMs ?? 0) / 2)
		expect(none.totals.wastedShare).toBeGreaterThan(0.3)
		expect(full.totals.wastedShare).toBeLessThan(0.01)
		expect(full.totals.goodShare).toBe(1)
	})

	test('a bulkhead keeps a slow dependency from taking the shop with it', () => {
		expect(run('slow').totals.goodShare).toBeLessThan(0.5)
		expect(run('slowBulkhead').totals.goodShare).toBeGreaterThan(0.9)
	})

	test('where one answer in five fails, retries are right', () => {
		expect(run('partial').totals.goodShare).toBeLessThan(0.92)
		expect(run('partialRetry').totals.goodShare).toBeGreaterThan(0.99)
	})
})

describe('figures', () => {
	test('are written with their unit, and what is nearly all is not all', () => {
		expect(written(0.7, 'share')).toBe('70 %')
		expect(written(0.99999, 'share')).toBe('> 99.9 %')
		expect(written(0.00001, 'share')).toBe('< 0.1 %')
		expect(written(1, 'share')).toBe('100 %')
		expect(written(250, 'ms')).toBe('250 ms')
		expect(written(2_500, 'ms')).toBe('2.5 s')
		expect(written(3, 'times')).toBe('× 3')
		expect(written(1_250, 'perSecond')).toBe('1,250/s')
	})

	test('never is worse than any time, and a run that goes on has not failed to recover yet', () => {
		const [soon, never] = [{ value: 5_000 }, 'never'] as const
		expect(change('recoveredAfterMs', soon, never)).toBe('better')
		expect(change('recoveredAfterMs', never, soon)).toBe('worse')
		expect(change('goodShare', { value: 0.9 }, { value: 0.8 })).toBe('better')
		expect(change('wastedShare', { value: 0.20001 }, { value: 0.2 })).toBe('same')
		expect(change('p99Ms', { value: 3 }, 'unknown')).toBeUndefined()
		const simulation = new Simulation(scenarioOf(INITIAL))
		simulation.advance(30_000)
		expect(readingOf('recoveredAfterMs', simulation.result())).toBe('unknown')
	})
})

describe('words', () => {
	/** All texts of a language, by their place. Sentences are tried with a sample. */
	function texts(words: object, path = ''): readonly (readonly [string, string])[] {
		return Object.entries(words).flatMap(([name, value]) => {
			const place = path ? `${path}.${name}` : name
			if (typeof value === 'string') return [[place, value] as const]
			if (typeof value === 'function') return [[place, String(value('better', '5', '7'))] as const]
			return texts(value, place)
		})
	}

	test('are there in both languages, and are Japanese in Japanese', () => {
		const [english, japanese] = [texts(en), texts(ja)]
		expect(japanese.map(([place]) => place)).toEqual(english.map(([place]) => place))
		for (const [place, text] of [...english, ...japanese]) expect(text.trim(), place).not.toBe('')
		const untranslated = japanese.filter(([, text]) => !/[\u3040-\u30FF\u4E00-\u9FFF]/.test(text))
		expect(untranslated.map(([place]) => place)).toEqual([
			'options.jitter.equal',
			'options.jitter.full',
			'options.jitter.decorrelated',
			'unknown',
			'running',
		])
	})

	test('in the markup are those of the English page, for whoever sees it before the script has run', () => {
		const html = readFileSync(join(ROOT, 'playground', 'index.html'), 'utf8')
		const found = [...html.matchAll(/data-word="(\w+)"[^>]*>([^<]*)</g)]
		expect(found.length).toBeGreaterThan(15)
		for (const [, name = '', text = ''] of found)
			expect(text.replaceAll(/\s+/g, ' ').trim(), name).toBe(en[name as keyof FixedWords])
	})
})
