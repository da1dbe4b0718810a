/** One attempt, no key. */
export async function post<Body>(url: string, body: object): Promise<Body> {
	const response = await fetch(url, {
		method: 'POST',
		headers: { 'content-type': 'application/json' },
		body: JSON.stringify(body),
		signal: AbortSignal.timeout(10_000),
	})
	if (!response.ok) throw new Error(`HTTP ${response.status}`)
	return (response.status === 204 ? undefined : await response.json()) as Body
}
