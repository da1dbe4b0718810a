import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from '../../scripts/tools.ts'
import { hang, reset } from '../http/faults/steps.ts'
import { buildNext, LIMIT, startNext } from './support/next.ts'
import { CODE, recipes } from './support/recipes.ts'
import { BUSY, json, startServer } from './support/services.ts'

/** Writes the files of the recipe as an application of its own. Returns its folder. */
function createApplication(name: string): string {
	const folder = join(CODE, name)
	for (const { path, code } of recipes().find((recipe) => recipe.name === 'nextjs-route')?.files ?? []) {
		// recipes.test.ts checks the types. For an application in TypeScript, Next would install packages.
		const file = join(folder, path.replace(/\.ts$/, '.js'))
		mkdirSync(dirname(file), { recursive: true })
		writeFileSync(file, stripTypeScriptTypes(code))
	}
	const config = { turbopack: { root: ROOT } }
	writeFileSync(join(folder, 'next.config.mjs'), `export default ${JSON.stringify(config)}\n`)
	return folder
}

test(
	'a route of a production build responds after failures, and the client leaves no request behind',
	LIMIT,
	async () => {
		const api = await startServer([BUSY, reset('request-head'), json({ name: 'Ada' })])
		const folder = createApplication('next-production')
		await buildNext(folder, { API_URL: api.origin })
		const url = `${await startNext(folder, 'start', { API_URL: api.origin })}/users/7`

		const response = await fetch(url)
		expect([response.status, await response.json()]).toEqual([200, { name: 'Ada' }])
		expect(api.requests.map(({ path }) => path)).toEqual(['/users/7', '/users/7', '/users/7'])

		api.play(json({}, 404))
		expect((await fetch(url)).status).toBe(404)
		expect(api.requests).toHaveLength(4)

		// The user leaves.
		api.play(hang())
		const controller = new AbortController()
		const left = fetch(url, { signal: controller.signal }).catch(() => 'left')
		await api.requested(5)
		controller.abort()
		expect(await left).toBe('left')
		await api.aborted(5)
		api.play(json({ name: 'Ada' }))
		expect((await fetch(url)).status).toBe(200)
		expect(api.requests).toHaveLength(6)

		api.play(json({}, 500, { 'x-should-retry': 'false' }))
		for (let request = 0; request < 10; request++) expect((await fetch(url)).status).toBe(503)
		// The circuit has opened.
		expect(api.requests.length).toBeLessThan(16)
	},
)

test('a reload in development keeps the client', LIMIT, async () => {
	const api = await startServer([BUSY, json({ name: 'Ada' })])
	const folder = createApplication('next-development')
	const [lib, route] = [join(folder, 'lib/api.js'), join(folder, 'app/users/[id]/route.js')]
	const count = 'globalThis.evaluations = (globalThis.evaluations ?? 0) + 1\n'
	writeFileSync(lib, count + readFileSync(lib, 'utf8'))
	const url = `${await startNext(folder, 'dev', { API_URL: api.origin })}/users/7`
	expect((await fetch(url)).status).toBe(200)
	expect(api.requests).toHaveLength(2)

	writeFileSync(lib, `${readFileSync(lib, 'utf8')}\nexport const edited = true\n`)
	const report = `import { api, edited } from '../../../lib/api'
export const GET = () => Response.json({ edited, evaluations: globalThis.evaluations, requests: api.stats.requests })
`
	writeFileSync(route, report)
	let body: Record<string, unknown> = {}
	// Until the reload, the old route responds, or none.
	while (!body['edited']) body = await (await fetch(url)).json().catch(() => ({}))
	expect(body['evaluations']).toBeGreaterThan(1)
	expect(body['requests']).toBeGreaterThan(0)
})
