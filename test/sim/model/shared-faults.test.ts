import { describe, expect, it } from 'vitest'
import { type Scenario, simulate } from 'yaoki/sim'
import { runStudy, toSVG } from 'yaoki/sim/report'
import type { SharedFault } from '../../../src/sim/scenario/scenario.ts'

const SHARED: SharedFault = { kind: 'outage', services: ['a', 'b'], fromMs: 1_000, toMs: 2_000 }

const scenario = (faults: readonly SharedFault[]): Scenario => ({
	until: 'idle',
	services: { a: { serviceTimeMs: 1 }, b: { serviceTimeMs: 1 }, c: { serviceTimeMs: 1 } },
	clients: Object.fromEntries(
		['a', 'b', 'c'].map((to) => [to, { to, arrivals: { kind: 'constant', perSecond: 100, toMs: 10_000 } }]),
	),
	faults,
})

const failed = ({ clients }: ReturnType<typeof simulate>) =>
	Object.values(clients).map((client) => client.failed)

describe('a fault of several services', () => {
	it('affects each of them, and no other', () => {
		expect(failed(simulate(scenario([SHARED])))).toEqual([100, 100, 0])
	})

	it('is the same as the fault at each of them', () => {
		const { services, ...rest } = SHARED
		const own = { serviceTimeMs: 1, faults: [rest] }
		const each: Scenario = { ...scenario([]), services: { a: own, b: own, c: { serviceTimeMs: 1 } } }
		expect(services).toEqual(['a', 'b'])
		expect(JSON.stringify(simulate(scenario([SHARED])))).toBe(JSON.stringify(simulate(each)))
	})

	it('adds to the faults of a service', () => {
		const { services } = scenario([])
		const both: Scenario = {
			...scenario([SHARED]),
			services: {
				...services,
				a: { serviceTimeMs: 1, faults: [{ kind: 'outage', fromMs: 3_000, toMs: 4_000 }] },
			},
		}
		const result = simulate(both)
		expect(failed(result)).toEqual([200, 100, 0])
		expect(result.recovery?.faultEndedAtMs).toBe(4_000)
	})

	it('is a fault to recover from, and shown in the chart', () => {
		expect(simulate(scenario([SHARED])).recovery).toMatchObject({
			faultEndedAtMs: 2_000,
			healthyAfterMs: 0,
		})
		const study = { title: 'shared', variants: { one: scenario([SHARED]) } }
		expect(toSVG(runStudy(study, { replications: 1 }))).toContain('outage')
		expect(toSVG(runStudy({ ...study, variants: { one: scenario([]) } }, { replications: 1 }))).not.toContain(
			'outage',
		)
	})
})
