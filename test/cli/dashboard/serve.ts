/** `yaoki dashboard` in this process, until the end of the test. */
import { expect, onTestFinished } from 'vitest'
import type { Overview } from '../../../src/dashboard/contract.ts'
import { eventually } from '../../support/eventually.ts'
import { type Running, start } from '../outbox/run-yaoki.ts'

/** Starts the command. Returns the URL that it prints. */
export async function serve(
	args: readonly string[],
	env: Readonly<Record<string, string>> = {},
): Promise<Running & { readonly url: string }> {
	const running = start(['dashboard', '--port', '0', ...args], env)
	onTestFinished(async () => {
		running.interrupt()
		await running.ended
	})
	await Promise.race([eventually(() => expect(running.stdout.text).toMatch(/^http:/)), running.ended])
	expect(running.stdout.text, running.stderr.text).toMatch(/^http:/)
	return Object.assign(running, { url: running.stdout.text.trim() })
}

export const overviewOf = async (url: string): Promise<Overview> => {
	const response = await fetch(`${url}_yaoki/api/overview`)
	expect(response.status).toBe(200)
	return response.json()
}
