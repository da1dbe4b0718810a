/** Valid service configs with values that core's own options do not allow. Calls used to fail with the error of the option. */
import { expect, test } from 'vitest'
import { optionsOf } from '../conformance/subjects.ts'
import { withMethod } from '../service-config/configs.ts'
import { useUsersClient } from '../support/users-client.ts'
import { useVirtualServer } from '../support/virtual-server.ts'
import { fails, replies } from '../support/virtual-steps.ts'

const YEARS = '315576000000s'
const CAP = { maxAttemptsCap: 1_000 }

async function call(policies: object) {
	const server = useVirtualServer([fails(14), replies()])
	const client = useUsersClient(server.address, optionsOf('Yaoki', server.route(withMethod(policies)), CAP))
	const { done } = client.invoke('Get', {})
	await server.advance(10_000)
	return { code: (await done).status.code, times: server.times }
}

test('a hedgingDelay of years does not make calls fail', async () => {
	const hedgingPolicy = { maxAttempts: 2, hedgingDelay: YEARS, nonFatalStatusCodes: [14] }
	expect(await call({ hedgingPolicy })).toEqual({ code: 0, times: [0, 0] })
})

test('a maxAttempts of 1,000 does not make hedged calls fail', async () => {
	const hedgingPolicy = { maxAttempts: 1_000, hedgingDelay: '1s', nonFatalStatusCodes: [14] }
	expect(await call({ hedgingPolicy })).toEqual({ code: 0, times: [0, 0] })
})

test('extreme values of a retry policy do not make calls fail', async () => {
	const codes = { retryableStatusCodes: [14], maxAttempts: 1_000 }
	const [tiny, huge] = [
		{ initialBackoff: '0.000000001s', maxBackoff: '0.000000001s', backoffMultiplier: Number.MIN_VALUE },
		{ initialBackoff: '1s', maxBackoff: YEARS, backoffMultiplier: Number.MAX_VALUE },
	]
	expect((await call({ retryPolicy: { ...codes, ...tiny } })).code).toBe(0)
	expect((await call({ retryPolicy: { ...codes, ...huge } })).code).toBe(0)
})
