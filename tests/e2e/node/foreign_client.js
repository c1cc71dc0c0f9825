// Streams a CSV file, reads its scores and lists the history, with nothing of
// ours but the protos.
//
//   node foreign_client.js PROTO_FOLDER HOST:PORT STREAM FILE.csv SCORES.csv
//
// SCORES.csv is what `telltale score` wrote for FILE.csv: the scores that come
// back must be the same numbers, bit for bit.
'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');

// The packages are installed beside the build, not beside this file.
const modules = process.env.TELLTALE_NODE_MODULES;
const grpc = require(path.join(modules, '@grpc/grpc-js'));
const loader = require(path.join(modules, '@grpc/proto-loader'));

const WINDOW = 16;
const IN_FLIGHT = 4;

const [protos, address, stream, telemetryFile, scoresFile] =
    process.argv.slice(2);

const definition = loader.loadSync(
    [
      'telltale/v1/anomaly_detection_service.proto',
      'telltale/v1/score_history_service.proto',
      'telltale/v1/model_service.proto',
      'grpc/health/v1/health.proto',
    ],
    {includeDirs: [protos], keepCase: true, longs: String, enums: String,
     defaults: true, oneofs: true});
const root = grpc.loadPackageDefinition(definition);
const connect = (Service) =>
    new Service(address, grpc.credentials.createInsecure());
const detection = connect(root.telltale.v1.AnomalyDetectionService);
const history = connect(root.telltale.v1.ScoreHistoryService);
const models = connect(root.telltale.v1.ModelService);
const health = connect(root.grpc.health.v1.Health);

// A unary call as a promise.
const call = (client, method, request) => new Promise(
    (resolve, reject) => client[method](
        request, (error, reply) => error ? reject(error) : resolve(reply)));

function readCsv(file) {
  const [header, ...rows] =
      fs.readFileSync(file, 'utf8').trimEnd().split('\n')
          .map((line) => line.split(','));
  return {header, rows};
}

// "name[unit]" as the file's header has it.
function channelOf(heading) {
  const found = /^(.*)\[(.*)\]$/.exec(heading);
  return found ? {name: found[1], unit: found[2]} : {name: heading, unit: ''};
}

// Whole nanoseconds without a detour over floating point.
function nanoseconds(seconds) {
  const [whole, fraction = ''] = seconds.split('.');
  return (whole + fraction.padEnd(9, '0')).replace(/^0+(?=\d)/, '');
}

function windowsOf(rows) {
  const windows = [];
  for (let begin = 0; begin < rows.length; begin += WINDOW) {
    const part = rows.slice(begin, begin + WINDOW);
    windows.push({
      time_ns: part.map((row) => nanoseconds(row[0])),
      samples: part.flatMap(
          (row) => row.slice(1).map((x) => x === '' ? NaN : Number(x))),
    });
  }
  return windows;
}

// Streams all windows, at most IN_FLIGHT unanswered; resolves to the verdicts.
function streamAll(channels, windows) {
  return new Promise((resolve, reject) => {
    const verdicts = [];
    const frames = detection.StreamWindows();
    let sent = 0;
    let answered = 0;
    const sendMore = () => {
      while (sent < windows.length && sent - answered < IN_FLIGHT) {
        frames.write({windows: [
          {stream, sequence: sent + 1, window: windows[sent]},
        ]});
        ++sent;
      }
      if (answered === windows.length) frames.end();
    };
    frames.on('data', (response) => {
      assert.strictEqual(response.stream, stream);
      if (response.reply === 'opened') {
        assert.strictEqual(response.opened.resume_from, '1');
        return sendMore();
      }
      assert.strictEqual(response.reply, 'scored',
                         JSON.stringify(response.rejected));
      assert.strictEqual(response.scored.sequence, String(answered + 1));
      ++answered;
      verdicts.push(...response.scored.instants);
      sendMore();
    });
    frames.on('error', reject);
    frames.on('end', () => resolve(verdicts));
    frames.write({open: [{stream, epoch: 1, channels}]});
  });
}

async function listAll() {
  const scores = [];
  let page_token = '';
  do {
    const page =
        await call(history, 'ListScores', {stream, page_size: 300, page_token});
    scores.push(...page.scores);
    page_token = page.next_page_token;
  } while (page_token !== '');
  return scores;
}

function compareWithFile(verdicts) {
  const {header, rows} = readCsv(scoresFile);
  const column = (name) => header.indexOf(name);
  assert.strictEqual(verdicts.length, rows.length);
  rows.forEach((row, i) => {
    const state = verdicts[i].state.replace('INSTANT_STATE_', '');
    assert.strictEqual(state, row[column('state')]);
    if (row[column('score')] === '') return;
    assert.strictEqual(verdicts[i].score,
                       Math.fround(Number(row[column('score')])));
    assert.strictEqual(verdicts[i].anomaly, row[column('anomaly')] === '1');
  });
}

async function main() {
  const ready = await call(health, 'Check', {});
  assert.strictEqual(ready.status, 'SERVING');
  const {models: [model]} = await call(models, 'ListModels', {});
  assert.strictEqual((await call(models, 'GetModel', {name: model.name})).version,
                     model.version);

  const {header, rows} = readCsv(telemetryFile);
  const channels = header.slice(1).map(channelOf);
  const verdicts = await streamAll(channels, windowsOf(rows));
  compareWithFile(verdicts);

  const stored = await listAll();
  assert.deepStrictEqual(stored.map((score) => score.instant), verdicts);

  const refused = await call(detection, 'ScoreWindow', {
    channels: channels.slice(1), window: {time_ns: ['1'], samples: [1]},
  }).then(() => null, (error) => error);
  assert.strictEqual(refused.code, grpc.status.INVALID_ARGUMENT);
  assert.match(refused.message, new RegExp(channels[0].name));

  const anomalies = verdicts.filter((verdict) => verdict.anomaly).length;
  console.log(`${verdicts.length} instants, ${anomalies} anomalous, ` +
              `${stored.length} stored`);
}

main().then(() => process.exit(0), (error) => {
  console.error(error);
  process.exit(1);
});
