/** The pages about choosing settings have one policy, and hashes that open the playground with it. */
import { describe, expect, test } from 'vitest'
import { type PolicyLayer, simulate } from 'yaoki/sim'
import { fromHash, toHash } from '../../playground/link.ts'
import { layersOf, scenarioOf } from '../../playground/scenario.ts'
import { type Page, page, pages } from './markdown.ts'

const OVERVIEW = page('docs/guide/choosing-settings.md')
const all = pages().filter(({ path }) => path.startsWith('docs/guide/choosing-'))

/** Returns the text of the policy, without its brackets. */
const chosenText = ({ text }: Page): string =>
	/^const chosen: PolicyLayer\[\] = \[\n(.*?)^\]$/ms.exec(text)?.[1] ?? ''

/** Returns the policy. Defaults that the playground always sets are added. */
function chosenLayers(one: Page): readonly unknown[] {
	const layers: readonly PolicyLayer[] = new Function(`return [${chosenText(one)}]`)()
	return layers.map((layer) => {
		if (!('retry' in layer)) return layer
		const budget = { maxRetryRatio: 0.1, ...layer.retry.budget }
		return { retry: { maxDelayMs: 30_000, jitterStrategy: 'full', ...layer.retry, budget } }
	})
}

test('the pipeline of the overview is the simulated policy', () => {
	const pipeline = chosenText(OVERVIEW)
		.replace(/budget: (\{.*?\})/, 'budget: retryBudget($1)')
		.replaceAll(/^ {2}\{ (\w+?)(?:Ms)?: (.*) \},$/gm, '  $1($2),')
	expect(OVERVIEW.text).toContain(`pipeline(\n  { name: 'payments' },\n${pipeline})`)
})

describe.each(all.map((each) => [each.path, each] as const))('%s', (_, each) => {
	const hash = /^#(\w+=.+)$/m.exec(each.text)?.[1] ?? ''
	const { settings, language } = fromHash(hash)

	test('has the policy of the overview', () => {
		expect(chosenText(each)).toBe(chosenText(OVERVIEW))
	})

	test('has a hash for the playground with this policy, in which every setting is known', () => {
		expect(toHash({ settings, language })).toBe(hash)
		expect(chosenLayers(each)).toMatchObject(layersOf(settings))
	})

	test('has a hash with the traffic of the payment API, which recovers', () => {
		const scenario = scenarioOf(settings)
		expect(scenario.services['service']).toMatchObject({ workers: 50 })
		expect(scenario.clients['callers']).toMatchObject({ instances: 5, goodWithinMs: 5_000 })
		expect(scenario.clients['callers']?.arrivals).toEqual({
			kind: 'poisson',
			perSecond: expect.closeTo(200),
		})
		// The playground has no fault on the page about what to retry.
		expect(simulate(scenario).recovery?.status ?? 'recovered').toBe('recovered')
	})
})
