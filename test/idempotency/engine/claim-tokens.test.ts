import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { hostname } from 'node:os'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { ClaimTokens } from '../../../src/idempotency/engine/claim-tokens.ts'
import { end, guard } from '../../guard/guard.ts'

afterEach(() => {
	vi.unstubAllGlobals()
	vi.unstubAllEnvs()
})

const tokens = new ClaimTokens()
const [machine = '', ownPid, unique] = tokens.next().split('/')

const tokenOf = (pid: number | undefined, on = machine): string => `${on}/${pid}/${unique}`

test('tokens are unique, in one engine and in several of a process', () => {
	const all = [tokens.next(), tokens.next(), new ClaimTokens().next(), new ClaimTokens().next()]
	expect(new Set(all).size).toBe(4)
	expect(ownPid).toBe(String(process.pid))
})

// Only Linux says in which boot and in which namespace a process id is unique.
describe.runIf(process.platform === 'linux')('a token of another process', () => {
	test('says whether the process has ended', async () => {
		const child = guard(spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']))
		const token = tokenOf(child.pid)
		expect(tokens.hasEnded(token)).toBe(false)
		await end(child)
		expect(tokens.hasEnded(token)).toBe(true)
	})

	test('says nothing about a process of another machine or container', async () => {
		const child = guard(spawn(process.execPath, ['-e', '']))
		await once(child, 'exit')
		const [, boot = '', namespace = ''] = /^(.{36})-(\d+)-/.exec(machine) ?? []
		const others = [
			machine.replace(boot, crypto.randomUUID()),
			machine.replace(namespace, String(Number(namespace) + 1)),
			// Virtual machines that were cloned with their memory have the same boot.
			machine.replace(hostname(), 'clone'),
		]
		expect(others).not.toContain(machine)
		expect(others.map((other) => tokens.hasEnded(tokenOf(child.pid, other)))).toEqual([false, false, false])
	})

	test('counts as one of a process that runs if the answer is not allowed', () => {
		vi.stubGlobal('process', {
			...process,
			kill: () => {
				throw Object.assign(new Error(), { code: 'EPERM' })
			},
		})
		expect(tokens.hasEnded(tokenOf(1))).toBe(false)
	})
})

test.each(['', 'abc.1', '//abc.1', 'x/1', '/1/abc.1'])('%j is of no process that has ended', (token) => {
	expect(tokens.hasEnded(token)).toBe(false)
})

test('no process counts as ended if the machine is unknown', () => {
	vi.stubGlobal('Deno', {})
	const others = new ClaimTokens()
	expect(others.next()).toMatch(/^\/\d+\/[\da-f-]{36}\.1$/)
	expect(others.hasEnded(tokenOf(2 ** 22 - 1))).toBe(false)
})

test('no process counts as ended on AWS Lambda, where environments may look like one machine', () => {
	vi.stubEnv('AWS_LAMBDA_FUNCTION_NAME', 'charges')
	const environment = new ClaimTokens()
	expect(environment.next()).toMatch(/^\/\d+\/[\da-f-]{36}\.1$/)
	expect(environment.hasEnded(tokenOf(2 ** 22 - 1))).toBe(false)
	expect(environment.hasEnded(tokenOf(2 ** 22 - 1, ''))).toBe(false)
})
