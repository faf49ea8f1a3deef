// The npm clients of A2A, AG-UI, OpenAI and Vercel's AI SDK against a server of ours: `clients.mjs URL`, in a folder with node_modules.
import { ClientFactory, ClientFactoryOptions, JsonRpcTransportFactory } from '@a2a-js/sdk/client';
import { HttpAgent, buildResumeArray } from '@ag-ui/client';
import { DefaultChatTransport, readUIMessageStream } from 'ai';
import OpenAI from 'openai';

const [, , url] = process.argv;
const agent = new HttpAgent({
  url: `${url}/ag-ui`, headers: { Authorization: 'Bearer right-token' }, threadId: 'npm',
  initialMessages: [{ id: 'u1', role: 'user', content: 'buy' }],
});
const events = [];
const listener = { onEvent({ event }) { events.push(event.type); } };
await agent.runAgent({ runId: 'r1' }, listener);
const answers = Object.fromEntries(agent.pendingInterrupts.map(({ id }) => [
  id, { status: 'resolved', payload: { approved: true } },
]));
await agent.runAgent({ runId: 'r2', resume: buildResumeArray(agent.pendingInterrupts, answers) }, listener);

const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'right-token', maxRetries: 0 });
const chat = await openai.chat.completions.create({ model: 'shop', messages: [{ role: 'user', content: 'hi' }] });
const stream = openai.responses.stream({ model: 'shop', input: 'hi' });
const pieces = [];
for await (const event of stream) {
  if (event.type === 'response.output_text.delta') pieces.push(event.delta);
}
const background = await openai.responses.create({ model: 'shop', input: 'hi', background: true });
const rest = [];
for await (const event of await openai.responses.retrieve(background.id, { stream: true, starting_after: 2 })) {
  rest.push(event.sequence_number);
}

const transport = new DefaultChatTransport({ api: `${url}/ai-sdk`, headers: { Authorization: 'Bearer right-token' } });
const said = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'buy' }] };
async function send(messages) {
  const sent = await transport.sendMessages({ chatId: 'c1', messages, trigger: 'submit-message' });
  let last;
  const message = messages.at(-1).role === 'assistant' ? messages.at(-1) : undefined;
  for await (const each of readUIMessageStream({ stream: sent, message, terminateOnError: true })) last = each;
  return last;
}
const asked = await send([said]);
for (const part of asked.parts) {
  if (part.state === 'approval-requested') {
    part.state = 'approval-responded';
    part.approval = { ...part.approval, approved: true };
  }
}
const answered = await send([said, asked]);
const reconnected = await transport.reconnectToStream({ chatId: 'c1' });

const withToken = (at, init) => fetch(at, {
  ...init, headers: { ...init?.headers, Authorization: 'Bearer right-token' },
});
const a2a = await new ClientFactory(ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
  transports: [new JsonRpcTransportFactory({ fetchImpl: withToken })],
})).createFromUrl(url);
const message = (parts, more = {}) => ({ message: { messageId: 'm1', role: 1, parts, ...more } });
const text = (value) => ({ content: { $case: 'text', value } });
const { id: taskId, status } = await a2a.sendMessage(message([text('buy')]));
const { approvals } = status.message.parts.find(({ content }) => content.$case === 'data').content.value;
const decisions = { approvals: approvals.map(({ digest }) => ({ digest, approved: true })) };
const kinds = [];
const approved = message([{ content: { $case: 'data', value: decisions } }], { taskId });
for await (const { payload } of a2a.sendMessageStream(approved)) kinds.push(payload.$case);
const task = await a2a.getTask({ id: taskId });

console.log(JSON.stringify({
  a2a: [status.state, kinds, task.status.state, task.artifacts[0].parts[0].content.value],
  chatParts: answered.parts.filter(({ type }) => type !== 'step-start')
    .map(({ type, toolName, state, output, text }) => [type, toolName ?? null, state, output ?? text]),
  reconnected,
  messages: agent.messages.map(({ role, content }) => [role, content ?? null]),
  last: events.at(-1), chat: chat.choices[0].message.content, pieces,
  final: (await stream.finalResponse()).output_text, rest,
}));
