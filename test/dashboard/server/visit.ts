/** What a browser does: opens the page, loads what it links to, and repeats its cookie and token. */

const TOKEN = /<meta name="?yaoki-token"? content="?([0-9a-f]*)/

export interface Visit {
	/** The URL of the page, with a slash at its end. */
	readonly url: string
	readonly token: string
	readonly cookie: string
	readonly html: string
}

export async function visit(
	url: string,
	get: (url: string) => Promise<Response> = (one) => fetch(one),
): Promise<Visit> {
	const response = await get(url)
	const html = await response.text()
	if (response.status !== 200) throw new Error(`${response.status} ${html}`)
	const [cookie = ''] = (response.headers.get('set-cookie') ?? '').split(';')
	return { url, html, cookie, token: TOKEN.exec(html)?.[1] ?? '' }
}

/** The links of the page, resolved as a browser does, without those that contain their data. */
export const linksOf = ({ url, html }: Visit): string[] =>
	[...html.matchAll(/(?:src|href)="?([^"\s>]+)/g)]
		.map(([, link = '']) => new URL(link, url).href)
		.filter((link) => !link.startsWith('data:'))

/** A write, as the page sends it. */
export const writeOf = (
	{ url, token, cookie }: Visit,
	body: unknown,
	headers: Record<string, string> = {},
): RequestInit => ({
	method: 'POST',
	headers: {
		'content-type': 'application/json',
		origin: new URL(url).origin,
		'x-yaoki-token': token,
		cookie,
		...headers,
	},
	body: typeof body === 'string' ? body : JSON.stringify(body),
})
